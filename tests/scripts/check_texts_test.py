# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import os
import pathlib
import sys
import tempfile
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

    def test_of_fences_count_where_no_program_writes_the_page(self):
        text = f"```\n{LONG}\n| {LONG}\n```\n"
        self.assertEqual(wide("docs/a.md", text), [2, 3])
        self.assertEqual(wide("docs/benchmarks/a.md", text), [])

    def test_of_lone_links_are_free(self):
        link = "[a long text](" + "x" * 120 + ".md)"
        address = "https://" + "x" * 120
        text = f"```\na\n```\n{link}\n- {link},\n{address}\n  ~~~\n  ```\n| {LONG}\n  ~~~\n{LONG}\n"
        self.assertEqual(wide("docs/a.md", text), [9, 11])

    def test_of_tables_count_on_every_page(self):
        text = f"| a | b |\n| --- | --- |\n| {LONG[:116]} |\n| {LONG} |\n"
        for path in ("docs/a.md", "docs/benchmarks/a.md", "docs/cli.md", "README.md"):
            self.assertEqual(wide(path, text), [4])

    def test_of_the_readme_are_120_at_most(self):
        with tempfile.TemporaryDirectory() as folder:
            self.addCleanup(os.chdir, os.getcwd())
            os.chdir(folder)
            for count, found in ((120, []), (121, [121])):
                pathlib.Path("README.md").write_text("a\n" * count, encoding="utf-8")
                numbers = [number for number, _ in check_texts.mistakes_of(pathlib.Path("README.md"))]
                self.assertEqual(numbers, found)

    def test_of_a_link_with_words_beside_it_count(self):
        self.assertEqual(wide("docs/a.md", "see [this](" + "x" * 120 + ".md)\n"), [1])

    def test_of_comments_count_and_those_of_code_do_not(self):
        self.assertEqual(wide("cache/a.hpp", f"// {LONG}\nint a;  /// {LONG}\nf(\"{LONG}\");\n"), [1, 2])
        self.assertEqual(wide("tests/CMakeLists.txt", f"# {LONG}\nset(a \"{LONG}\")\n"), [1])
        self.assertEqual(wide("scripts/run", f"#!/usr/bin/env bash\n# {LONG}\necho {LONG}\n"), [2])

    def test_of_kernels_are_left_alone(self):
        for path in ("kernels/gemm/gemm.cuh", "kernels/emulator/abi.h"):
            self.assertEqual(wide(path, f"// {LONG}\n"), [1])


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


class Words(unittest.TestCase):
    def test_of_pages_count_and_those_of_decisions_and_programs_do_not(self):
        counted = ("README.md", "CONTRIBUTING.md", "docs/a.md", "docs/kernels/a.md", "docs/examples/a/README.md")
        others = ("docs/decisions/a.md", "docs/benchmarks/a.md", "docs/cli.md", "CHANGELOG.md", "kernels/README.md")
        self.assertEqual(check_texts.words(dict.fromkeys(counted + others, "# One\n\n| two | − |\n")), 7 * len(counted))

    def test_between_the_marks_of_a_report_do_not_count(self):
        page = "a\n<!-- scripts/benchmark report makes this -->\nb c\n<!-- until here -->\nd\n"
        self.assertEqual(check_texts.words({"README.md": page}), 2)
        unended = page.partition("<!-- until")[0]
        self.assertEqual(check_texts.words({"README.md": unended}), len(unended.split()))
        self.assertEqual(check_texts.words({"docs/a.md": page}), len(page.split()))

    def test_above_the_limit_are_told_with_what_to_do(self):
        text = "word " * (check_texts.MOST_WORDS - 1)
        self.assertEqual(check_texts.too_many_words({"README.md": "word", "docs/a.md": text}), "")
        wrong = check_texts.too_many_words({"README.md": "a word", "docs/a.md": text})
        self.assertIn("35,001 words, 35,000 at most: cut 1, ", wrong)

    def test_above_the_limit_fail_the_check(self):
        limit, check_texts.MOST_WORDS = check_texts.MOST_WORDS, 100
        self.addCleanup(setattr, check_texts, "MOST_WORDS", limit)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(ROOT)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.assertEqual(check_texts.main(), 1)
        self.assertIn("words, 100 at most", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
