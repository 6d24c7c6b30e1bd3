# SPDX-License-Identifier: Apache-2.0
"""In which order arms take turns: with a stand-in for torch."""
import collections
import importlib
import sys
import unittest
from unittest import mock


class Order(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.dict(sys.modules, {"torch": mock.MagicMock()})
        patch.start()
        self.addCleanup(patch.stop)
        sys.modules.pop("peers.timing", None)
        self.order_of = importlib.import_module("peers.timing").order_of

    def test_has_each_arm_as_often_at_each_place_and_behind_each_other(self):
        for count in range(1, 10):
            names = [str(each) for each in range(count)]
            period = count if count % 2 == 0 else 2 * count
            for begin in (0, period):
                orders = [self.order_of(names, turn) for turn in range(begin, begin + period)]
                for order in orders:
                    self.assertEqual(sorted(order), names)
                places = collections.Counter((place, name) for order in orders for place, name in enumerate(order))
                pairs = collections.Counter(pair for order in orders for pair in zip(order, order[1:]))
                self.assertEqual(set(places.values()), {period // count})
                self.assertEqual((len(places), len(pairs)), (count * count, count * (count - 1)))
                self.assertLessEqual(len(set(pairs.values())), 1)


if __name__ == "__main__":
    unittest.main()
