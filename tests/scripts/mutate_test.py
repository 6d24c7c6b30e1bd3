# SPDX-License-Identifier: Apache-2.0
"""scripts/mutate: its list fits the sources, and what it changes it puts back."""
import argparse
import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader("mutate", str(ROOT / "scripts" / "mutate"))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", LOADER))
LOADER.exec_module(mutate)


class Mutate(unittest.TestCase):
    def test_every_change_of_the_list_fits_the_sources(self):
        changes = list(mutate.read_mutations((ROOT / "tests" / "mutations.txt").read_text(encoding="utf-8")))
        self.assertGreater(len(changes), 20)
        for number, file, _, _, old, new in changes:
            self.assertEqual(mutate.misfit_of(number, file, old), "")
            self.assertNotEqual(old, new)

    def test_a_line_that_does_not_fit_says_how_often_its_text_stands_there(self):
        self.assertIn("stands 0 times in nowhere.cpp", mutate.misfit_of(7, "nowhere.cpp", "x"))

    def test_a_source_is_put_back_whatever_happens(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "a.cpp"
            source.write_text("int a = 1;")

            def look(*_):
                self.assertEqual(source.read_text(), "int a = 2;")
                raise KeyboardInterrupt

            with mock.patch.object(mutate, "outcome_of", look), self.assertRaises(KeyboardInterrupt):
                mutate.try_out(source, "1", "2", None, "", "")
            self.assertEqual(source.read_text(), "int a = 1;")

    def test_shards_are_numbered_from_1(self):
        self.assertEqual(mutate.shard_of("2/4"), (2, 4))
        for wrong in ("0/4", "5/4", "x", "1"):
            self.assertRaises(argparse.ArgumentTypeError, mutate.shard_of, wrong)


if __name__ == "__main__":
    unittest.main()
