# SPDX-License-Identifier: Apache-2.0
"""Calls with torch's tensors: what of torch is asked, by a stand-in that has it and no more."""
import contextlib
import sys
import threading
import types
import unittest

from dlpack_test import Capsules
from recording import ADDRESS, DRIVER, Array, LaunchTest
from tilewright import _streams, _tensors


class DType:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


FLOAT16, BFLOAT16 = DType("float16"), DType("bfloat16")


class Tensor:
    def __init__(self, shape, strides=None, dtype=FLOAT16, device=0, address=ADDRESS + 256):
        self.shape, self.dtype, self._address, self._device = shape, dtype, address, device
        expected = tuple(_product(shape[i + 1:]) for i in range(len(shape)))
        self._strides = strides or expected
        self.device = types.SimpleNamespace(type="cpu" if device < 0 else "cuda", index=device)

    def data_ptr(self):
        return self._address

    def get_device(self):
        return self._device

    def is_contiguous(self):
        return _tensors.is_dense(self.shape, self._strides)

    def stride(self):
        return self._strides


class Parameter(Tensor):
    pass


def _product(extents):
    result = 1
    for extent in extents:
        result *= extent
    return result


class Cuda(types.SimpleNamespace):
    """torch.cuda: a current device a process, a current stream a device."""

    def __init__(self, devices):
        super().__init__(devices=devices, now=0, streams=[0] * devices, context_asked=0)

    def is_initialized(self):
        return True

    def device_count(self):
        return self.devices

    def current_device(self):
        return self.now

    def current_stream(self, device):
        return types.SimpleNamespace(cuda_stream=self.streams[device])

    @contextlib.contextmanager
    def device(self, index):
        before, self.now = self.now, index
        DRIVER.use(index)
        try:
            yield
        finally:
            self.now = before
            DRIVER.use(before)

    def mem_get_info(self, device):
        self.context_asked += 1
        DRIVER.use(device)


class TorchTest(LaunchTest):
    devices = 1

    def setUp(self):
        self.cuda = Cuda(self.devices)
        sys.modules["torch"] = types.SimpleNamespace(Tensor=Tensor, cuda=self.cuda, _C=types.SimpleNamespace())
        self.addCleanup(sys.modules.pop, "torch")
        _streams._found = None
        self.addCleanup(setattr, _streams, "_found", None)
        super().setUp()


class Torch(TorchTest):
    def test_the_first_call_and_the_next_ones_launch_alike(self):
        for number in (1, 2, 3):
            self.scale(Tensor((8, 64)), Parameter((2, 4, 64), address=ADDRESS + 1024 * number), number)
        launches = DRIVER.launches()
        self.assertEqual([launch.param(1) - ADDRESS for launch in launches], [1024, 2048, 3072])
        self.assertEqual([launch.param(3) for launch in launches], [8, 8, 8])
        self.assertEqual({launch.symbol for launch in launches}, {b"wide_symbol"})

    def test_the_current_stream_is_taken_at_each_call(self):
        stream = DRIVER.new_stream()
        for current in (0, stream, 0):
            self.cuda.streams[0] = current
            self.scale(Tensor((8, 64)), Tensor((8, 64)), 1)
        self.scale(Tensor((8, 64)), Tensor((8, 64)), 1, stream=stream)
        self.assertEqual([launch.stream for launch in DRIVER.launches()], [None, stream, None, stream])

    def test_arrays_and_tensors_may_be_mixed(self):
        for _ in range(2):
            self.scale(Tensor((8, 64)), Tensor((8, 64)), 1)
            self.scale(Array((8, 64)), Tensor((8, 64)), 1)
        self.assertEqual(len(DRIVER.launches()), 4)

    def test_an_array_of_another_stream_than_the_current_one_is_refused(self):
        stream = DRIVER.new_stream()
        self.refused("torch's current one is 0x0; pass stream=", self.scale, Array((8, 64), stream=stream),
                     Tensor((8, 64)), 1)
        self.cuda.streams[0] = stream
        self.scale(Array((8, 64), stream=stream), Tensor((8, 64)), 1)
        self.assertEqual(self.only_launch().stream, stream)

    def test_what_is_refused_is_refused_also_after_good_calls(self):
        good = Tensor((8, 64))
        for _ in range(2):
            self.refused("'x': it is on", self.scale, Tensor((8, 64), device=-1), good, 1)
            self.refused("'y' has elements of bf16; the op takes f16", self.scale, good,
                         Tensor((8, 64), dtype=BFLOAT16), 1)
            self.refused("'x' of shape (8, 64) is not contiguous", self.scale, Tensor((8, 64), strides=(1, 8)), good, 1)
            self.refused("'y' has the extent 32", self.scale, good, Tensor((8, 32)), 1)
            self.refused("'factor' is a scalar", self.scale, good, good, "a")
            self.refused("takes 3 arguments", self.scale, good, good)
            self.scale(good, good, 1)
            DRIVER.functions.recording_reset()

    def test_pitches_are_those_of_each_call(self):
        strided = self.launcher.op("strided", dtype="f16", pitch="strided")
        for pitch in (128, 96, 128):
            strided(Tensor((8, 64), strides=(pitch, 1)), Tensor((8, 64), address=ADDRESS + 8192), 1)
        self.assertEqual([launch.param(5) for launch in DRIVER.launches()], [128, 96, 128])

    def test_a_thread_without_a_context_gets_torchs(self):
        self.scale(Tensor((8, 64)), Tensor((8, 64)), 1)

        def work():
            for _ in range(2):
                self.scale(Tensor((8, 64)), Tensor((8, 64)), 1)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assertEqual(len(DRIVER.launches()), 3)
        self.assertEqual(self.cuda.context_asked, 1)

    def test_shapes_that_never_come_again_do_not_fill_the_memory(self):
        for rows in range(1, 20):
            self.scale(Tensor((rows, 64)), Tensor((rows, 64)), 1)
        before = len(self.scale._prepared)
        self.assertLessEqual(before, 2 * 19)
        self.scale._prepared.update((number, None) for number in range(5000))
        self.scale(Tensor((99, 64)), Tensor((99, 64)), 1)
        self.assertLess(len(self.scale._prepared), 10)


class TorchWithTwoDevices(TorchTest):
    devices = 2

    def test_launches_are_made_on_the_tensors_device_and_its_stream(self):
        self.cuda.streams[1] = DRIVER.new_stream()
        for _ in range(2):
            self.scale(Tensor((8, 64), device=1), Tensor((8, 64), device=1), 1)
            self.scale(Tensor((8, 64)), Tensor((8, 64)), 1)
        launches = DRIVER.launches()
        self.assertEqual([launch.stream for launch in launches], [self.cuda.streams[1], None] * 2)
        self.assertEqual(len({launch.context for launch in launches}), 2)
        self.assertEqual(self.cuda.now, 0)

    def test_a_producer_is_told_the_stream_of_its_own_device(self):
        self.cuda.streams = [DRIVER.new_stream(), DRIVER.new_stream()]
        tensor = Capsules((8, 64), device=(2, 1))
        self.scale(tensor, Tensor((8, 64), device=1), 1)
        self.assertEqual(tensor.streams, [self.cuda.streams[1]])
        self.assertEqual(self.only_launch().stream, self.cuda.streams[1])

    def test_tensors_of_two_devices_are_refused(self):
        self.refused("on different GPUs: 'x' on 0, 'y' on 1", self.scale, Tensor((8, 64)), Tensor((8, 64), device=1), 1)


if __name__ == "__main__":
    unittest.main()
