# SPDX-License-Identifier: Apache-2.0
"""Which comments of a header scripts/lib/check_contracts.py takes for contracts, and which for too long ones."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"))
import check_contracts  # noqa: E402


def found(text):
    return [line for line, _ in check_contracts.mistakes(text)]


class CheckContracts(unittest.TestCase):
    def test_nine_lines_before_a_declaration_are_too_long_and_eight_are_not(self):
        self.assertEqual(found("\n" + "/// a\n" * 9 + "int f();\n"), [2])
        self.assertEqual(found("  // a\n" * 8 + "  int f();\n"), [])

    def test_a_comment_of_c_counts_with_its_marks(self):
        self.assertEqual(found("/* a\n" + " * b\n" * 7 + " * c */\nint f(void);\n"), [1])
        self.assertEqual(found("/* a */\nint f(void);\n"), [])

    def test_what_opens_a_header_may_be_longer(self):
        self.assertEqual(found("/// a\n" * 20 + "namespace tilewright {\n"), [])
        self.assertEqual(found("/* a\n" + " * b\n" * 20 + " */\n\n#ifdef __cplusplus\n"), [])


if __name__ == "__main__":
    unittest.main()
