# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package stand on: the recording driver with its device's context current, the sample
cache, and arrays that are none."""
import ctypes
import os
import pathlib
import shutil
import tempfile
import unittest

import tilewright

SAMPLE_CACHE = os.environ["TILEWRIGHT_TEST_CACHE"]
ADDRESS = 0x7F0000000000
_PARAMS, _PARAM_BYTES = 72, 128


class Record(ctypes.Structure):
    """recording_launch_record."""

    _fields_ = [("symbol", ctypes.c_char * 128), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
                ("cluster", ctypes.c_uint * 3), ("shared_bytes", ctypes.c_uint), ("pdl", ctypes.c_int),
                ("stream", ctypes.c_void_p), ("context", ctypes.c_ulonglong), ("param_count", ctypes.c_uint),
                ("param_sizes", ctypes.c_uint * _PARAMS), ("params", (ctypes.c_ubyte * _PARAM_BYTES) * _PARAMS)]

    def param(self, index, kind=ctypes.c_uint64):
        return kind.from_buffer_copy(bytes(self.params[index])).value


class Driver:
    def __init__(self):
        self.functions = ctypes.CDLL(os.environ["TILEWRIGHT_LIBCUDA"])
        self.functions.recording_launch_count.restype = ctypes.c_size_t
        self.functions.recording_launch.argtypes = [ctypes.c_size_t, ctypes.POINTER(Record)]
        self.contexts = []
        assert self.functions.cuInit(0) == 0
        for device in range(2):
            context = ctypes.c_void_p()
            assert self.functions.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
            self.contexts.append(context)

    def use(self, device):
        """Makes a device's context current on this thread; None: no context."""
        assert self.functions.cuCtxSetCurrent(None if device is None else self.contexts[device]) == 0

    def new_stream(self):
        stream = ctypes.c_void_p()
        assert self.functions.cuStreamCreate(ctypes.byref(stream), 1) == 0
        return stream.value

    def launches(self):
        records = []
        for index in range(self.functions.recording_launch_count()):
            records.append(Record())
            assert self.functions.recording_launch(index, ctypes.byref(records[-1])) == 0
        return records


DRIVER = Driver()


class Array:
    """Offers __cuda_array_interface__."""

    def __init__(self, shape, typestr="<f2", strides=None, address=ADDRESS + 256, readonly=False, stream=None, **more):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "strides": strides, "version": 3,
                                         "data": (address, readonly), "stream": stream, **more}


class LaunchTest(unittest.TestCase):
    """A launcher over the sample cache, and nothing launched yet."""

    def setUp(self):
        DRIVER.use(0)
        DRIVER.functions.recording_reset()
        self.launcher = tilewright.Launcher(SAMPLE_CACHE)
        self.scale = self.launcher.op("scale", dtype="f16")
        self.addCleanup(self.launcher.close)

    def only_launch(self):
        launches = DRIVER.launches()
        self.assertEqual(len(launches), 1)
        return launches[0]

    def refused(self, text, call, *args, kind=tilewright.UsageError, **named):
        """`call` fails, says `text`, and launches nothing."""
        with self.assertRaises(kind) as caught:
            call(*args, **named)
        self.assertIn(text, str(caught.exception))
        self.assertEqual(DRIVER.launches(), [])

    def cache_copy(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return pathlib.Path(shutil.copy(SAMPLE_CACHE, folder.name))
