# SPDX-License-Identifier: Apache-2.0
"""Errors over several draws of the inputs, of arms that need no torch."""
import contextlib
import io
import unittest

import compare_decode
from peers import served_cells


class Draws(unittest.TestCase):
    def over_draws(self, first, draws, errors):
        """Also what was skipped. `errors` has by arms those of the draws behind the first."""
        drawn = [0]

        def renew():
            drawn[0] += 1

        def error_of(arm):
            return compare_decode.checked([errors[arm][drawn[0] - 1]])
        skipped = {}
        found = compare_decode.over_draws(first, draws, renew, error_of, skipped)
        self.assertEqual(drawn[0], draws - 1)
        return found, skipped

    def test_one_is_the_error_itself(self):
        self.assertEqual(self.over_draws({"ours": 0.002}, 1, {}), ({"ours": 0.002}, {}))

    def test_of_some_errors_are_means_of_ours_and_of_peers(self):
        found, skipped = self.over_draws({"ours": 0.002, "flash4": 0.001}, 3,
                                         {"ours": [0.001, 0.003], "flash4": [0.002, 0.003]})
        self.assertAlmostEqual(found["ours"], 0.002)
        self.assertAlmostEqual(found["flash4"], 0.002)
        self.assertEqual(skipped, {})

    def test_an_arm_that_one_draw_shows_to_be_wrong_has_no_error(self):
        found, skipped = self.over_draws({"ours": 0.001, "flash4": 0.001}, 3,
                                         {"ours": [0.001, 0.001], "flash4": [float("nan"), 0.001]})
        self.assertEqual(list(found), ["ours"])
        self.assertIn("its output is another one", skipped["flash4"])

    def test_are_an_option_of_scripts_whose_errors_are_means(self):
        def refusal(*words, **how):
            with contextlib.redirect_stderr(io.StringIO()) as err, contextlib.redirect_stdout(io.StringIO()):
                try:
                    served_cells.run([*words, "--list"], "compare_decode.py", "", {}, None, None, None, **how)
                except SystemExit:
                    return err.getvalue()
            return None
        self.assertIsNone(refusal("--draws", "4", has_draws=True))
        self.assertIn("--draws is at least 1", refusal("--draws", "0", has_draws=True))
        self.assertIn("unrecognized arguments", refusal("--draws", "4"))


if __name__ == "__main__":
    unittest.main()
