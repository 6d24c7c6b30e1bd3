# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/lib"))
import check_includes  # noqa: E402

TABLE = """# Architecture

## Folders

| folder | may include | idea |
| --- | --- | --- |
| `docs` | `cache/base` | no row of the table |

## Who may include whom

Said in words, and in one table.

| foreign API | the one folder that calls it |
| --- | --- |
| `cu*` | `cache/driver` |

| folder | may include | idea |
| --- | --- | --- |
| `cache/base` | nothing | errors |
| `cache/model` | `cache/base`, `cache/model/formula` | values |
| `cache/model/formula` | `cache/base` | the language |
| `cache/launch` | `cache/model` | the library |
| `tuner/device` | `cache/model/formula`, `cache/launch`, `kernels/emulator` | devices, \
and what is beside them |

## Where the important decisions live
"""
SOURCES = {
    "cache/base/error.hpp": "#pragma once\n",
    "cache/model/op.hpp": '#include <string>\n#include "cache/base/error.hpp"\n',
    "cache/model/op.cpp": '#include "cache/model/op.hpp"\n#include "cache/model/formula/formula.hpp"\n',
    "cache/model/formula/formula.hpp": '#include "cache/base/error.hpp"\n',
    "cache/launch/launch.cpp": '#include "cache/model/op.hpp"\n#include "tilewright/launch.hpp"\n',
    "cache/launch/include/tilewright/launch.hpp": '#include "tilewright/detail/calls.hpp"\n',
    "cache/launch/include/tilewright/detail/calls.hpp": "#include <array>\n",
    "tuner/device/cpu/fiber.cpp": '#include "kernels/emulator/builtins/index.h"\n  # include "tilewright/launch.hpp"\n',
    "tuner/device/schema.cpp.in": '// #include "tuner/nowhere.hpp"\n#include "cache/model/formula/formula.hpp"\n',
    "kernels/emulator/builtins/index.h": "#pragma once\n",
    "tests/unit/op_test.cpp": '#include "tuner/device/device.hpp"\n',
}


def line_of(table, text):
    return table[:table.index(text)].count("\n") + 1


class CheckIncludes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        subprocess.run(["git", "init", "-q", folder.name], check=True)
        self.sources, self.table = dict(SOURCES), TABLE

    def write(self):
        for name, text in {**self.sources, "docs/architecture.md": self.table}.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def found(self):
        self.write()
        return list(check_includes.mistakes_of(self.root))

    def row(self, old, new):
        self.assertIn(old, self.table)
        self.table = self.table.replace(old, new)

    def assert_one(self, found, *parts):
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_a_tree_like_its_table_is_right(self):
        self.assertEqual(self.found(), [])
        self.assertEqual(check_includes.main([], self.root), 0)

    def test_an_include_without_an_arrow_is_named_with_the_row_to_change(self):
        self.sources["cache/launch/launch.cpp"] += '\n#include "cache/base/error.hpp"\n'
        self.assert_one(self.found(), 'cache/launch/launch.cpp:4: #include "cache/base/error.hpp"',
                        "`cache/launch` may not include `cache/base`",
                        f"docs/architecture.md:{line_of(TABLE, '| `cache/launch`')}")
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(check_includes.main([], self.root), 1)
        self.assertIn("cache/launch/launch.cpp:4", said.getvalue())

    def test_a_folder_with_a_row_is_not_covered_by_the_row_around_it(self):
        self.sources["cache/launch/launch.cpp"] += '#include "cache/model/formula/formula.hpp"\n'
        self.assert_one(self.found(), "`cache/launch` may not include `cache/model/formula`")

    def test_kernels_that_the_tuner_includes_need_an_arrow(self):
        self.sources["tuner/device/fill.cpp"] = '#include "kernels/utility/modes.h"\n'
        self.assert_one(self.found(), "tuner/device/fill.cpp:1", "`tuner/device` may not include `kernels/utility`")

    def test_an_include_beside_the_file_counts_as_its_folder(self):
        self.sources["cache/base/error.cpp"] = '#include "error.hpp"\n#include "../model/op.hpp"\n'
        self.assertIn("`cache/base` may not include `cache/model`", "\n".join(self.found()))

    def test_a_permission_that_nothing_uses_is_stale(self):
        self.row("| `cache/launch` | `cache/model` |", "| `cache/launch` | `cache/base`, `cache/model` |")
        self.assert_one(self.found(), f"docs/architecture.md:{line_of(self.table, '| `cache/launch`')}: ",
                        "nothing in `cache/launch` includes `cache/base`")

    def test_a_cycle_is_printed_with_an_include_for_each_arrow(self):
        self.sources["cache/base/error.cpp"] = '#include "cache/model/op.hpp"\n'
        self.row("| `cache/base` | nothing |", "| `cache/base` | `cache/model` |")
        found = self.found()
        self.assertIn("a cycle of folders: cache/base -> cache/model -> cache/base", found)
        at = found.index("a cycle of folders: cache/base -> cache/model -> cache/base")
        self.assertEqual(found[at + 1:at + 3], ['    cache/base/error.cpp:1: #include "cache/model/op.hpp"',
                                                '    cache/model/op.hpp:2: #include "cache/base/error.hpp"'])
        self.assertTrue(any("cache/base -> cache/model -> cache/model/formula -> cache/base" in one for one in found))

    def test_a_cycle_inside_a_row_is_not_looked_at(self):
        self.sources["tuner/device/device.hpp"] = '#include "tuner/device/cpu/fiber.hpp"\n'
        self.sources["tuner/device/cpu/fiber.hpp"] = '#include "tuner/device/device.hpp"\n'
        self.assertEqual(self.found(), [])

    def test_a_folder_that_the_table_lacks_is_named(self):
        self.sources["tuner/worker/pool.cpp"] = "#include <vector>\n"
        self.assert_one(self.found(), "tuner/worker: ", "no row for it")

    def test_a_row_for_no_folder_is_named(self):
        self.row("| `cache/launch` |", "| `cache/losses` | nothing | gone |\n| `cache/launch` |")
        self.assert_one(self.found(), f"docs/architecture.md:{line_of(self.table, '| `cache/losses`')}: ",
                        "`cache/losses` is no folder")

    def test_a_row_that_cannot_be_read_is_named(self):
        self.row("| `cache/base` | nothing |", "| `cache/base` | |")
        self.assertIn(f"docs/architecture.md:{line_of(TABLE, '| `cache/base` | nothing')}: ", self.found()[0])

    def test_a_second_row_for_a_folder_is_named(self):
        self.row("| `cache/launch` |", "| `cache/base` | nothing | again |\n| `cache/launch` |")
        self.assert_one(self.found(), "`cache/base` has a row already")

    def test_without_a_table_the_one_that_it_needs_can_be_printed(self):
        self.table = "# Architecture\n\n## Who may include whom\n\nEverybody.\n"
        self.assert_one(self.found(), "there is no table", "--print")
        printed = list(check_includes.printed_table(self.root))
        self.assertEqual(printed[:3], ["| folder | may include | idea |", "| --- | --- | --- |",
                                       "| `cache/base` | nothing |  |"])
        self.table += "\n" + "\n".join(printed) + "\n"
        self.assertEqual(self.found(), [])

    def test_the_printed_table_keeps_rows_and_ideas_and_mends_the_arrows(self):
        self.sources["cache/launch/launch.cpp"] = '#include "cache/base/error.hpp"\n'
        self.sources["tuner/worker/pool.cpp"] = '#include "tuner/device/cpu/fiber.hpp"\n'
        self.row("| `cache/model/formula` |", "| `cache/losses` | `cache/base` | gone |\n| `cache/model/formula` |")
        self.write()
        printed = list(check_includes.printed_table(self.root))
        self.assertIn("| `cache/launch` | `cache/base` | the library |", printed)
        self.assertIn("| `cache/model/formula` | `cache/base` | the language |", printed)
        self.assertEqual(printed[-1], "| `tuner/worker` | `tuner/device` |  |")
        self.assertNotIn("gone", "".join(printed))
        self.table = "## Who may include whom\n\n" + "\n".join(printed) + "\n"
        self.assertEqual(self.found(), [])


if __name__ == "__main__":
    unittest.main()
