# SPDX-License-Identifier: Apache-2.0
"""Which sources scripts/lib/changed_sources.py takes along with a change."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"))
import changed_sources  # noqa: E402

TEXTS = {
    "cache/a.hpp": "",
    "cache/a.cpp": '#include "cache/a.hpp"\n',
    "cache/b.hpp": '#include "cache/a.hpp"\n',
    "tuner/b.cpp": '#include "cache/b.hpp"\n',
    "tuner/only.hpp": "",
    "tuner/through.hpp": '#include "tuner/only.hpp"\n',
    "tuner/far.cpp": '#include "tuner/through.hpp"\n',
}


class ChangedSources(unittest.TestCase):
    def test_a_changed_source_is_one(self):
        self.assertEqual(changed_sources.affected_sources({"tuner/b.cpp", "README.md"}, TEXTS), ["tuner/b.cpp"])

    def test_a_changed_header_takes_its_includers_along(self):
        self.assertEqual(changed_sources.affected_sources({"cache/a.hpp"}, TEXTS), ["cache/a.cpp"])

    def test_a_header_that_no_source_includes_is_seen_through_another(self):
        self.assertEqual(changed_sources.affected_sources({"tuner/only.hpp"}, TEXTS), ["tuner/far.cpp"])

    def test_a_source_that_is_gone_is_none(self):
        self.assertEqual(changed_sources.affected_sources({"cache/gone.cpp"}, TEXTS), [])


class Repository(unittest.TestCase):
    def test_has_what_is_not_tracked_yet_among_its_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            def git(*words):
                subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b", *words], cwd=folder, check=True,
                               capture_output=True)
            git("init")
            git("commit", "--allow-empty", "-m", "First")
            (pathlib.Path(folder) / "cache").mkdir()
            (pathlib.Path(folder) / "cache" / "new.cpp").write_text("int a;\n", encoding="utf-8")
            before = os.getcwd()
            self.addCleanup(os.chdir, before)
            os.chdir(folder)
            self.assertEqual(changed_sources.changed_files(1), {"cache/new.cpp"})
            os.chdir(before)


class Code(unittest.TestCase):
    def test_is_the_same_where_comments_and_spaces_alone_differ(self):
        self.assertEqual(changed_sources.code_of("int a;  // one\n/* two\n three */ int b;"),
                         changed_sources.code_of("int a;\n// four\nint b;"))

    def test_is_another_where_a_word_or_a_literal_with_slashes_differs(self):
        for one, other in [("int a;", "int b;"), ('f("a//b");', 'f("a//c");'), ('f("\\"//b");', 'f("\\"//c");')]:
            self.assertNotEqual(changed_sources.code_of(one), changed_sources.code_of(other))


if __name__ == "__main__":
    unittest.main()
