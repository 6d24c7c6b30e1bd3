# SPDX-License-Identifier: Apache-2.0
"""Which GPUs a process sees, and SM clock and power of one while something runs on it, read through NVML, of which no
Python package is needed. Without NVML there are no readings."""
import ctypes
import os
import uuid

from .statistics import summary

CLOCK_SM = 1
# Of the reasons for a lower clock, the power limit's.
POWER_CAP = 0x4


def gpus_of(count):
    """What CUDA_VISIBLE_DEVICES is for each of `count` processes with a GPU of its own: of those that this one sees."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return (visible.split(",") if visible else [str(i) for i in range(count)])[:count]


def visible_uuids():
    """Of the GPUs that CUDA shows this process, in its order, as NVML takes them. Raises OSError without a driver."""
    driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        raise OSError("the CUDA driver shows no GPU")
    found = []
    for index in range(count.value):
        device, number = ctypes.c_int(), ctypes.create_string_buffer(16)
        if driver.cuDeviceGet(ctypes.byref(device), index) or driver.cuDeviceGetUuid(number, device):
            raise OSError(f"the CUDA driver tells nothing of GPU {index}")
        found.append(f"GPU-{uuid.UUID(bytes=number.raw)}")
    return found


class Nvml:
    """The driver's library, of one GPU. Raises OSError where it is missing or does not know the GPU."""

    def __init__(self, gpu):
        """`gpu` is a UUID."""
        self._library = ctypes.CDLL("libnvidia-ml.so.1")
        self._device = ctypes.c_void_p()
        if self._library.nvmlInit_v2() != 0 or self._library.nvmlDeviceGetHandleByUUID(
                gpu.encode(), ctypes.byref(self._device)) != 0:
            raise OSError(f"NVML does not know {gpu}")

    def name(self):
        name = ctypes.create_string_buffer(96)
        failed = self._library.nvmlDeviceGetName(self._device, name, len(name))
        return "unknown" if failed else name.value.decode()

    def utilisation(self):
        """The share of the time in which a kernel ran lately; None where it cannot be read."""
        rates = (ctypes.c_uint * 2)()  # of the GPU, of its memory
        failed = self._library.nvmlDeviceGetUtilizationRates(self._device, ctypes.byref(rates))
        return None if failed else rates[0] / 100

    def read(self):
        """(MHz, watts, whether the power limit holds the clock down); None for what cannot be read."""
        clock, power, reasons = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_ulonglong()
        library, device = self._library, self._device
        has_clock = library.nvmlDeviceGetClockInfo(device, CLOCK_SM, ctypes.byref(clock)) == 0
        has_power = library.nvmlDeviceGetPowerUsage(device, ctypes.byref(power)) == 0
        # The older name of nvmlDeviceGetCurrentClocksEventReasons, which every driver still has.
        has_reasons = library.nvmlDeviceGetCurrentClocksThrottleReasons(device, ctypes.byref(reasons)) == 0
        return (clock.value if has_clock else None, power.value / 1e3 if has_power else None,
                bool(reasons.value & POWER_CAP) if has_reasons else None)


def driver_version():
    """Such as 580.159.04; "unknown" without NVML."""
    version = ctypes.create_string_buffer(80)
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
        failed = library.nvmlInit_v2() or library.nvmlSystemGetDriverVersion(version, len(version))
    except (OSError, AttributeError):
        return "unknown"
    return "unknown" if failed else version.value.decode()


def open_nvml(gpu):
    """None where there is none."""
    try:
        return Nvml(gpu)
    except (OSError, AttributeError):
        return None


class Probe:
    """Readings of one cell."""

    def __init__(self, nvml):
        self._nvml, self._readings = nvml, []

    def sample(self):
        if self._nvml:
            self._readings.append(self._nvml.read())

    def result(self):
        """Medians with intervals, and in how many of the readings the power limit was active. NVML's power is an
        average of up to a second."""
        clocks, powers, caps = ([value for value in column if value is not None] for column in zip(*self._readings)) \
            if self._readings else ([], [], [])
        return {"samples": len(self._readings), "sm_mhz": summary(clocks) if clocks else None,
                "watts": summary(powers) if powers else None,
                "power_capped": sum(caps) / len(caps) if caps else None}
