# SPDX-License-Identifier: Apache-2.0
import unittest

from peers import probe


class Readings:
    """Stands for NVML."""

    def __init__(self, *readings):
        self.readings = list(readings)

    def read(self):
        return self.readings.pop(0)


class Probe(unittest.TestCase):
    def test_says_medians_and_how_often_the_power_limit_was_active(self):
        sampled = probe.Probe(Readings((1980, 500.0, False), (1755, 690.0, True), (1800, 600.0, True),
                                       (None, None, None)))
        for _ in range(4):
            sampled.sample()
        result = sampled.result()
        self.assertEqual((result["samples"], result["sm_mhz"]["median"], result["watts"]["median"]), (4, 1800, 600.0))
        self.assertAlmostEqual(result["power_capped"], 2 / 3)

    def test_without_nvml_has_no_readings(self):
        sampled = probe.Probe(None)
        sampled.sample()
        self.assertEqual(sampled.result(), {"samples": 0, "sm_mhz": None, "watts": None, "power_capped": None})

    def test_of_a_gpu_that_is_not_there_is_none(self):
        self.assertIsNone(probe.open_nvml("GPU-00000000-0000-0000-0000-000000000000"))


if __name__ == "__main__":
    unittest.main()
