# SPDX-License-Identifier: Apache-2.0
"""As much of torch as docs/examples/python and the drawn shapes of tests/gpu ask for, with tensors of no elements on
the recording driver: what they call is real, what is computed is not."""
import contextlib
import ctypes
import itertools
import os
import types


class DType:
    def __repr__(self):
        return "torch.bfloat16"


class Number:
    """The result of any arithmetic."""

    def _again(self, *_):
        return self

    __sub__ = __add__ = __radd__ = __mul__ = __rmul__ = __truediv__ = __matmul__ = abs = max = norm = _again
    shape = (1,)

    @property
    def T(self):
        return self

    def item(self):
        return 0.0

    __float__ = item


class Tensor:
    addresses = itertools.count(0x7F0000000000, 1 << 32)

    def __init__(self, shape):
        self.shape, self.dtype, self.device = shape, bfloat16, types.SimpleNamespace(type="cuda", index=0)
        self._address = next(Tensor.addresses)

    def data_ptr(self):
        return self._address

    def get_device(self):
        return 0

    def is_contiguous(self):
        return True

    def stride(self):
        return (self.shape[-1], 1)[-len(self.shape):]

    def double(self):
        return Number()


def compute(*_, **__):
    return Number()


def manual_seed(_):
    pass


def full(shape, _, device, dtype):
    return randn(*shape, device=device, dtype=dtype)


def randn(*shape, device, dtype):
    assert (device, dtype) == ("cuda", bfloat16)
    driver, context = ctypes.CDLL(os.environ["TILEWRIGHT_LIBCUDA"]), ctypes.c_void_p()
    assert driver.cuInit(0) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == driver.cuCtxSetCurrent(context) == 0
    return Tensor(shape)


def empty_like(tensor):
    return Tensor(tensor.shape)


bfloat16 = DType()
_C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: 0, _cuda_getDevice=lambda: 0)
cuda = types.SimpleNamespace(
    is_available=lambda: True, is_initialized=lambda: True, device_count=lambda: 1, synchronize=lambda: None,
    graph=lambda graph: contextlib.nullcontext(), CUDAGraph=lambda: types.SimpleNamespace(replay=lambda: None))
softmax = compute
nn = types.SimpleNamespace(functional=types.SimpleNamespace(rms_norm=compute, layer_norm=compute, silu=compute,
                                                            gelu=compute))
