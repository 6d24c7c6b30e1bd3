# SPDX-License-Identifier: Apache-2.0
import os
import unittest
from unittest import mock

from peers import probe


class Readings:
    """Stands for NVML."""

    def __init__(self, *readings):
        self.readings = list(readings)

    def read(self):
        return self.readings.pop(0)


class Driver:
    """Stands for libcuda, with two GPUs."""
    cuInit = staticmethod(lambda _: 0)

    def cuDeviceGetCount(self, count):
        count._obj.value = 2
        return 0

    def cuDeviceGet(self, device, index):
        device._obj.value = index
        return 0

    def cuDeviceGetUuid(self, number, device):
        number.raw = bytes([device.value] * 16)
        return 0


class Seen(unittest.TestCase):
    def test_gpus_are_those_that_the_environment_names(self):
        with mock.patch.dict(os.environ, {"CUDA_VISIBLE_DEVICES": "3,GPU-5,7"}):
            self.assertEqual(probe.gpus_of(2), ["3", "GPU-5"])
        with mock.patch.dict(os.environ, {"CUDA_VISIBLE_DEVICES": ""}):
            self.assertEqual(probe.gpus_of(2), ["0", "1"])

    def test_gpus_are_known_to_nvml_by_the_number_that_cuda_tells(self):
        with mock.patch.object(probe.ctypes, "CDLL", lambda _: Driver()):
            self.assertEqual(probe.visible_uuids(), ["GPU-00000000-0000-0000-0000-000000000000",
                                                     "GPU-01010101-0101-0101-0101-010101010101"])


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
