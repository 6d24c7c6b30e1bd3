# SPDX-License-Identifier: Apache-2.0
"""The examples are short. That they run is tests/launch/example_test.cpp's."""
import pathlib
import unittest

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "docs" / "examples"


class Examples(unittest.TestCase):
    def test_applications_have_less_than_60_lines(self):
        for path in ("application/main.cpp", "application_c/main.c", "python/main.py"):
            with self.subTest(path):
                self.assertLess(len((EXAMPLES / path).read_text(encoding="utf-8").splitlines()), 60)


if __name__ == "__main__":
    unittest.main()
