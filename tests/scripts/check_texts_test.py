# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/lib"))
import check_texts  # noqa: E402

LONG = "word " * 24 + "ä"  # 121 characters


def wide(path, text):
    return list(check_texts.too_wide(pathlib.Path(path), text))


class Widths(unittest.TestCase):
    def test_of_documents_are_counted_in_characters(self):
        text = f"{LONG[:120]}\n{LONG}\n- {LONG}\n> {LONG}\n{'ä' * 60} {'ä' * 59}\n"
        self.assertEqual(wide("docs/a.md", text), [2, 3, 4])

    def test_of_tables_fences_and_lone_links_are_free(self):
        link = "[a long text](" + "x" * 120 + ".md)"
        address = "https://" + "x" * 120
        text = f"| {LONG} |\n```\n{LONG}\n```\n{link}\n- {link},\n{address}\n  ~~~\n  ```\n  {LONG}\n  ~~~\n{LONG}\n"
        self.assertEqual(wide("docs/a.md", text), [12])

    def test_of_a_link_with_words_beside_it_count(self):
        self.assertEqual(wide("docs/a.md", "see [this](" + "x" * 120 + ".md)\n"), [1])

    def test_of_comments_count_and_those_of_code_do_not(self):
        self.assertEqual(wide("cache/a.hpp", f"// {LONG}\nint a;  /// {LONG}\nf(\"{LONG}\");\n"), [1, 2])
        self.assertEqual(wide("tests/CMakeLists.txt", f"# {LONG}\nset(a \"{LONG}\")\n"), [1])
        self.assertEqual(wide("scripts/run", f"#!/usr/bin/env bash\n# {LONG}\necho {LONG}\n"), [2])

    def test_of_kernels_are_left_alone(self):
        for path in ("kernels/gemm/gemm.cuh", "kernels/emulator/abi.h"):
            self.assertEqual(wide(path, f"// {LONG}\n"), [])


class Links(unittest.TestCase):
    def wrong(self, target, anchor, text="# A title\n\n```\n# no heading\n```\n## What `it` is: *two*, [three](x)\n"):
        return check_texts.dead_link(ROOT / "README.md", text, target, anchor)

    def test_to_files_and_headings_that_are_there_are_good(self):
        for target, anchor in (("LICENSE", ""), ("", "a-title"), ("", "what-it-is-two-three"), ("https://x.org/a", "b"),
                               ("docs/definitions.md", "implementation")):
            self.assertEqual(self.wrong(target, anchor), "")

    def test_to_a_heading_that_is_not_there_are_told(self):
        self.assertIn("no such heading", self.wrong("", "no-heading"))
        self.assertIn("docs/definitions.md#nothing", self.wrong("docs/definitions.md", "nothing"))

    def test_to_no_file_are_told(self):
        self.assertIn("leads nowhere", self.wrong("docs/nothing.md", ""))


if __name__ == "__main__":
    unittest.main()
