# SPDX-License-Identifier: Apache-2.0
"""What scripts/compare_served.py takes for an answer: of programs that stand for `tilewright`."""
import contextlib
import io
import pathlib
import sqlite3
import sys
import tempfile
import unittest
from unittest import mock

import compare_served

ANSWER = """echo '{"rows": [{"winner": "%s", "match_fit": "exact"}]}'"""
OUTSIDE = "echo 'tilewright: copy{n=1} is outside the domain of copy: n is odd' >&2; exit 2"
BROKEN = "echo 'tilewright: cannot open the cache' >&2; exit 1"


class Served(unittest.TestCase):
    def compare(self, before, after):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            with contextlib.closing(sqlite3.connect(folder / "c.db")) as cache:
                cache.executescript("CREATE TABLE specs (id, text); CREATE TABLE problems (spec, dims);"
                                    "INSERT INTO specs VALUES (1, 'copy'); INSERT INTO problems VALUES (1, 'n=8');")
            for side, body in (("before", before), ("after", after)):
                (folder / side).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
                (folder / side).chmod(0o755)
            words = ["compare_served.py", *(f"{folder}/{side}:{folder}/c.db" for side in ("before", "after")),
                     "--problems", "2"]
            with mock.patch.object(sys, "argv", words), contextlib.redirect_stdout(io.StringIO()) as out:
                return compare_served.main(), out.getvalue()

    def test_the_same_by_both_is_good_also_outside_of_the_domain(self):
        for body, told in ((ANSWER % "a", "2 exact"), (OUTSIDE, "2 outside the domain")):
            code, out = self.compare(body, body)
            self.assertEqual(code, 0)
            self.assertIn(f"0 served otherwise; {told}", out)

    def test_otherwise_fails(self):
        code, out = self.compare(ANSWER % "a", ANSWER % "b")
        self.assertEqual(code, 1)
        self.assertIn("winner: a -> b", out)

    def test_by_none_fails_though_both_say_the_same(self):
        code, out = self.compare(BROKEN, BROKEN)
        self.assertEqual(code, 1)
        self.assertIn("cannot open the cache", out)


if __name__ == "__main__":
    unittest.main()
