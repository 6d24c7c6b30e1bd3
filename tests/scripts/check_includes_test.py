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

LIST = """# Architecture

## Folders

- `docs`: no row of the list. Includes `cache/base`.

## Who may include whom

Said in words, and in one list.

| foreign API | the one folder that calls it |
| --- | --- |
| `cu*` | `cache/driver` |

- `cache/base`: errors. Includes nothing.
- `cache/model`: values. Includes `cache/base`, `cache/model/formula`.
- `cache/model/formula`: the language. Includes
  `cache/base`.
- `cache/launch`: the library. Includes `cache/model`.
- `tuner/device`: devices. And what is beside them. Includes `cache/model/formula`,
  `cache/launch`, `kernels/emulator`.

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


def line_of(page, text):
    return page[:page.index(text)].count("\n") + 1


class CheckIncludes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        subprocess.run(["git", "init", "-q", folder.name], check=True)
        self.sources, self.list = dict(SOURCES), LIST

    def write(self):
        for name, text in {**self.sources, "docs/architecture.md": self.list}.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def found(self):
        self.write()
        return list(check_includes.mistakes_of(self.root))

    def row(self, old, new):
        self.assertIn(old, self.list)
        self.list = self.list.replace(old, new)

    def assert_one(self, found, *parts):
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_a_tree_like_its_list_is_right(self):
        self.assertEqual(self.found(), [])
        self.assertEqual(check_includes.main([], self.root), 0)

    def test_an_include_without_an_arrow_is_named_with_the_row_to_change(self):
        self.sources["cache/launch/launch.cpp"] += '\n#include "cache/base/error.hpp"\n'
        self.assert_one(self.found(), 'cache/launch/launch.cpp:4: #include "cache/base/error.hpp"',
                        "`cache/launch` may not include `cache/base`",
                        f"docs/architecture.md:{line_of(LIST, '- `cache/launch`')}")
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
        self.row("library. Includes `cache/model`.", "library. Includes `cache/base`, `cache/model`.")
        self.assert_one(self.found(), f"docs/architecture.md:{line_of(self.list, '- `cache/launch`')}: ",
                        "nothing in `cache/launch` includes `cache/base`")

    def test_a_cycle_is_printed_with_an_include_for_each_arrow(self):
        self.sources["cache/base/error.cpp"] = '#include "cache/model/op.hpp"\n'
        self.row("errors. Includes nothing.", "errors. Includes `cache/model`.")
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

    def test_a_folder_that_the_list_lacks_is_named(self):
        self.sources["tuner/worker/pool.cpp"] = "#include <vector>\n"
        self.assert_one(self.found(), "tuner/worker: ", "no row for it")

    def test_a_row_for_no_folder_is_named(self):
        self.row("- `cache/launch`", "- `cache/losses`: gone. Includes nothing.\n- `cache/launch`")
        self.assert_one(self.found(), f"docs/architecture.md:{line_of(self.list, '- `cache/losses`')}: ",
                        "`cache/losses` is no folder")

    def test_a_row_that_cannot_be_read_is_named(self):
        self.row("errors. Includes nothing.", "errors.")
        self.assertIn(f"docs/architecture.md:{line_of(LIST, '- `cache/base`')}: ", self.found()[0])

    def test_a_second_row_for_a_folder_is_named(self):
        self.row("- `cache/launch`", "- `cache/base`: again. Includes nothing.\n- `cache/launch`")
        self.assert_one(self.found(), "`cache/base` has a row already")

    def test_without_a_list_the_one_that_it_needs_can_be_printed(self):
        self.list = "# Architecture\n\n## Who may include whom\n\nEverybody.\n"
        self.assert_one(self.found(), "there is no list", "--print")
        printed = list(check_includes.printed_list(self.root))
        self.assertEqual(printed[0], "- `cache/base`: Includes nothing.")
        self.list += "\n" + "\n".join(printed) + "\n"
        self.assertEqual(self.found(), [])

    def test_the_printed_list_keeps_rows_and_ideas_and_mends_the_arrows(self):
        self.sources["cache/launch/launch.cpp"] = '#include "cache/base/error.hpp"\n'
        self.sources["tuner/worker/pool.cpp"] = '#include "tuner/device/cpu/fiber.hpp"\n'
        self.row("- `cache/model/formula`", "- `cache/losses`: gone. Includes `cache/base`.\n- `cache/model/formula`")
        self.write()
        printed = list(check_includes.printed_list(self.root))
        self.assertIn("- `cache/launch`: the library. Includes `cache/base`.", printed)
        self.assertIn("- `cache/model/formula`: the language. Includes `cache/base`.", printed)
        self.assertEqual(printed[-1], "- `tuner/worker`: Includes `tuner/device`.")
        self.assertNotIn("gone", "".join(printed))
        self.list = "## Who may include whom\n\n" + "\n".join(printed) + "\n"
        self.assertEqual(self.found(), [])


if __name__ == "__main__":
    unittest.main()
