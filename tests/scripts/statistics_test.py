# SPDX-License-Identifier: Apache-2.0
import math
import unittest

from peers import statistics


class Statistics(unittest.TestCase):
    def test_median_of_even_and_odd_counts(self):
        self.assertEqual(statistics.median([3, 1, 2]), 2)
        self.assertEqual(statistics.median([4, 1, 2, 3]), 2.5)
        self.assertRaises(ValueError, statistics.median, [])

    def test_interval_leaves_out_what_the_binomial_distribution_allows(self):
        # docs/measuring.md: of 8 values from the least to the greatest, of 20 from the 6th to the 15th.
        self.assertEqual(statistics.interval(list(range(1, 9))), (1, 8))
        self.assertEqual(statistics.interval(list(range(20, 0, -1))), (6, 15))
        self.assertEqual(statistics.interval([5, 4, 6]), (4, 6))
        self.assertEqual(statistics.interval([5]), (5, 5))

    def test_geometric_mean_of_a_ratio_and_its_inverse_is_one(self):
        self.assertAlmostEqual(statistics.geometric_mean([4, 0.25]), 1)
        self.assertAlmostEqual(statistics.geometric_mean([2, 2, math.sqrt(2)]), 2 ** (2.5 / 3))
        self.assertRaises(ValueError, statistics.geometric_mean, [])

    def test_summary_has_median_and_interval(self):
        self.assertEqual(statistics.summary([1, 2, 3]), {"median": 2, "low": 1, "high": 3})

    def test_errors_over_draws_are_means_and_keep_what_is_wrong(self):
        def draw(rms, largest, wrong):
            return {"ours": {"o": {"rms": rms, "largest": largest, "largest_ulp": largest * 8, "ulp_there": largest / 2,
                                   "wrong": wrong}}}
        self.assertEqual(statistics.over_draws([draw(1, 4, 0), draw(2, 2, 3)])["ours"]["o"],
                         {"rms": 1.5, "largest": 3, "largest_of_each": [4, 2], "largest_ulp": 32, "ulp_there": 2,
                          "wrong": 3})


class Drawn(unittest.TestCase):
    def test_at_a_rate_are_so_many_and_some_more_or_less(self):
        self.assertTrue(statistics.is_drawn(900_500, 1_000_000, 0.9))
        for count in (896_000, 904_000, 1_000_000, 0):
            self.assertFalse(statistics.is_drawn(count, 1_000_000, 0.9), count)
        self.assertTrue(statistics.is_drawn(0, 0, 0.9))


if __name__ == "__main__":
    unittest.main()
