# SPDX-License-Identifier: Apache-2.0
"""CUDA streams by whatever object stands for them, and what is needed of torch. Functions without state."""
from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from ._library import UsageError
from ._tensors import Tensor

_LEGACY = 1  # the default stream's other name


def handle_of(stream: Any) -> int:
    """Of a number, a torch or CuPy or Numba stream, or an object with `__cuda_stream__`."""
    if isinstance(stream, int) and not isinstance(stream, bool):
        return 0 if stream == _LEGACY else stream
    if hasattr(stream, "__cuda_stream__"):
        pair = stream.__cuda_stream__
        return handle_of((pair() if callable(pair) else pair)[1])
    if isinstance(stream, ctypes.c_void_p):
        return handle_of(stream.value or 0)  # of a null pointer, the default stream, the value is None
    for name in ("cuda_stream", "ptr", "handle", "value"):
        inner = getattr(stream, name, None)
        if inner is not None:
            return handle_of(inner)
    raise UsageError(f"{stream!r} is no CUDA stream: pass its handle, a torch, CuPy or Numba stream, or an object with "
                     "__cuda_stream__")


def stream_of(tensors: Sequence[Tensor]) -> int:
    """The stream that arrays name as theirs, else the default one."""
    named = set()
    for tensor in tensors:
        if tensor.stream is not None:
            named.add(handle_of(tensor.stream))
    if len(named) > 1:
        raise UsageError(f"the arrays are made on {len(named)} streams; wait for them and pass stream=")
    return named.pop() if named else 0


@functools.cache
def _driver() -> Any:
    """That of the launch library."""
    return ctypes.CDLL(os.environ.get("TILEWRIGHT_LIBCUDA") or "libcuda.so.1")


def current_device() -> int | None:
    """Whose context is current on this thread; None without one."""
    device = ctypes.c_int()
    return device.value if _driver().cuCtxGetDevice(ctypes.byref(device)) == 0 else None


class Torch:
    """What a launch needs of torch, as functions that cost little."""

    def __init__(self, torch: Any):
        self.torch = torch
        self.tensor_type = torch.Tensor
        private = torch._C
        self.raw_stream = getattr(private, "_cuda_getCurrentRawStream", None) or (
            lambda device: torch.cuda.current_stream(device).cuda_stream)
        self.current_device = getattr(private, "_cuda_getDevice", None) or torch.cuda.current_device
        self.has_one_device = torch.cuda.device_count() == 1
        self.shape_and_type = attrgetter("shape", "dtype")
        self.address = torch.Tensor.data_ptr
        self.device_of = torch.Tensor.get_device
        self.is_contiguous = torch.Tensor.is_contiguous
        self.strides = torch.Tensor.stride
        # Of shape, strides and dtype, on the current device: as graphs of torch.compile allocate.
        try:
            self.empty = private._dynamo.guards._empty_strided_cuda
        except AttributeError:
            self.empty = lambda shape, strides, dtype: torch.empty_strided(shape, strides, dtype=dtype, device="cuda")

    def make_context_current(self, device: int) -> None:
        """On a thread that has used no GPU yet there is none; asking the runtime of memory makes one."""
        self.torch.cuda.mem_get_info(device)


_found: Torch | None = None


def torch_if_imported() -> Torch | None:
    """None as long as the program has not imported torch, or uses no GPU with it."""
    global _found
    if _found is None:
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(torch, "Tensor") and torch.cuda.is_initialized():
            _found = Torch(torch)
    return _found
