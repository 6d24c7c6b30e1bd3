# SPDX-License-Identifier: Apache-2.0
"""What scripts/lib/check_claims.py takes for a claim that nothing holds."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"))
import check_claims  # noqa: E402

TESTS = check_claims.Tests({
    "tests/unit/plan/plan_test.cpp": "TEST_F(Plan, holds_on_every_device) {\n}\nTEST(Kills, of_a_sweep_lose_nothing) {",
    "tests/unit/plan/CMakeLists.txt": "tilewright_test(plan_tests LABEL unit",
    "tests/page/big_test.py": "class Big(unittest.TestCase):\n    def test_opens_soon(self):"})


def found(text, claims=True):
    return [mistake for _, mistake in check_claims.mistakes(text, TESTS, claims)]


class CheckClaims(unittest.TestCase):
    def test_a_claim_without_a_test_or_a_link_is_told(self):
        for claim in ("It never waits.", "Every launch is right.", "This is tested.", "It is held by a test.",
                      "| a | every row |", "- it is\n  never so", "A test holds it."):
            self.assertEqual(len(found(claim)), 1, claim)
            self.assertIn("name the test", found(claim)[0])

    def test_a_link_or_a_test_in_the_same_block_holds_a_claim(self):
        for proof in ("[why](x.md)", "`Plan.holds_on_every_device`", "`Plan.holds_on…`", "`Kills.*`", "`plan_tests`",
                      "`tests/unit/plan/plan_test.cpp`", "`tests/unit/plan`", "`Big.test_opens_soon`",
                      "`plan_tests --gtest_filter='Plan.*'`"):
            self.assertEqual(found(f"It never waits\n({proof})."), [], proof)

    def test_neither_a_name_of_no_test_nor_a_link_to_the_page_itself_holds_one(self):
        for proof in ("[why](#why)", "`sweep.some_thing`", "`base.take`"):
            self.assertEqual(len(found(f"It never waits ({proof}).")), 1, proof)

    def test_a_time_or_a_rate_needs_a_command_a_link_or_a_test(self):
        for figure in ("It takes 12.5 µs.", "At 4 TB/s.", "It is three times as fast.", "| a | 750 TFLOP/s |"):
            self.assertIn("name the command", found(figure)[0], figure)
        for figure in ("12 µs (`scripts/benchmark rows`).", "12 µs ([rows](rows.md)).", "12 µs (`Plan.*`).",
                       "12 µs (`tilewright show`).", "At most 5 % slower.", "`12 µs`", "    t = 2 µs + bytes / rate"):
            self.assertEqual(found(figure), [], figure)

    def test_a_link_in_another_block_does_not(self):
        self.assertEqual(len(found("It never waits.\n\n[why](x.md)")), 1)
        self.assertEqual(len(found("- never\n- [why](x.md)")), 1)
        self.assertEqual(len(found("| never |\n| [why](x.md) |")), 1)

    def test_code_headings_and_words_that_hold_others_are_no_claims(self):
        self.assertEqual(found("```\nnever\n```\n## Every element\nIt is `never`, or everything, or untested.\n"), [])

    def test_a_test_that_is_not_there_is_told(self):
        for name in ("`Plan.holds_nothing_at_all`", "`Plan.tells…`", "`Other.*`", "`tests/unit/plan/gone_test.cpp`",
                     "`gone_tests`"):
            self.assertEqual(found(f"It never waits ({name})."), [f"there is no test {name.strip('`')}"], name)

    def test_records_may_claim_but_name_tests_that_are_there(self):
        self.assertEqual(found("Every write is one transaction.", claims=False), [])
        self.assertEqual(len(found("`Plan.holds_nothing_at_all`", claims=False)), 1)

    def test_mistakes_have_the_line_where_their_block_begins(self):
        self.assertEqual([line for line, _ in check_claims.mistakes("a\n\n```\nx\n```\nb\nnever\n", TESTS)], [6])


if __name__ == "__main__":
    unittest.main()
