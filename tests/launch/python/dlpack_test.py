# SPDX-License-Identifier: Apache-2.0
"""Calls with DLPack capsules."""
import ctypes
import unittest

from recording import ADDRESS, DRIVER, Array, LaunchTest
from tilewright import _tensors

_new = ctypes.pythonapi.PyCapsule_New
_new.argtypes, _new.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
_name = ctypes.pythonapi.PyCapsule_GetName
_name.argtypes, _name.restype = [ctypes.py_object], ctypes.c_char_p


class Capsules:
    """Offers __dlpack__."""

    def __init__(self, shape, strides=None, code=2, bits=16, lanes=1, device=(2, 0), offset=0):
        extents = ctypes.c_int64 * len(shape)
        self.shape, self.strides = extents(*shape), extents(*strides) if strides else None
        self.device = device
        self.tensor = _tensors._DLTensor(
            data=ADDRESS + 256, device_type=device[0], device_id=device[1], ndim=len(shape), code=code, bits=bits,
            lanes=lanes, shape=ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64)),
            strides=ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64)) if strides else None, byte_offset=offset)
        self.capsules, self.streams = [], []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        self.capsules.append(_new(ctypes.addressof(self.tensor), b"dltensor", None))
        return self.capsules[-1]


class DLPack(LaunchTest):
    def test_addresses_and_extents_are_read(self):
        self.scale(Capsules((8, 64), offset=512), Capsules((2, 4, 64), strides=(256, 64, 1)), 1)
        launch = self.only_launch()
        self.assertEqual([launch.param(i) for i in (0, 1, 3, 4)], [ADDRESS + 768, ADDRESS + 256, 8, 64])

    def test_capsules_are_left_to_whom_they_belong(self):
        tensor = Capsules((8, 64))
        self.scale(tensor, Array((8, 64)), 1)
        self.assertEqual(_name(tensor.capsules[0]), b"dltensor")

    def test_the_producer_is_told_the_stream(self):
        tensor, stream = Capsules((8, 64)), DRIVER.new_stream()
        self.scale(tensor, Array((8, 64)), 1)
        self.scale(tensor, Array((8, 64)), 1, stream=stream)
        self.assertEqual(tensor.streams, [1, stream])  # 1: the legacy default stream

    def test_tensors_are_on_the_gpu_whose_context_is_current(self):
        there = Capsules((8, 64), device=(2, 1))
        self.refused("are on GPU 1, and the context that is current is GPU 0's", self.scale, there, there, 1)
        DRIVER.use(1)
        self.scale(there, there, 1)
        self.assertEqual(self.only_launch().param(3), 8)

    def test_every_type_is_known_by_its_code(self):
        for code, bits, name in ((2, 32, "f32"), (4, 16, "bf16"), (2, 64, "f64"), (0, 32, "i32"), (0, 64, "i64"),
                                 (1, 32, "u32"), (1, 64, "u64"), (1, 8, "u8"), (6, 8, "u8")):
            self.assertEqual(_tensors.from_dlpack(Capsules((2,), code=code, bits=bits), 0).layout.dtype, name)

    def test_what_is_not_the_ops_is_refused(self):
        good = Array((8, 64))
        self.refused("'x' has elements of bf16; the op takes f16", self.scale, Capsules((8, 64), code=4), good, 1)
        self.refused("DLPack type 2:16x4", self.scale, Capsules((8, 64), lanes=4), good, 1)
        self.refused("'x' of shape (8, 64) is not contiguous", self.scale, Capsules((8, 64), strides=(128, 1)), good, 1)
        self.refused("'x': it is not in a GPU's memory (DLPack device 1:0)", self.scale,
                     Capsules((8, 64), device=(1, 0)), good, 1)
        self.refused("on different GPUs: 'x' on 0, 'y' on 1", self.scale, Capsules((8, 64)),
                     Capsules((8, 64), device=(2, 1)), 1)


if __name__ == "__main__":
    unittest.main()
