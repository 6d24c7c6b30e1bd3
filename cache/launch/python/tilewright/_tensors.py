# SPDX-License-Identifier: Apache-2.0
"""What a launch needs to know of a tensor, from any object that says it: torch's tensors, `__cuda_array_interface__`,
DLPack. Functions without state."""
from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

from ._library import UsageError

TORCH_TYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64", "int32": "i32", "int64": "i64",
               "uint32": "u32", "uint64": "u64", "uint8": "u8", "bool": "u8"}
# NumPy has no bf16: those who have it show 2 bytes without a type.
_TYPESTR = {"f4": "f32", "f2": "f16", "V2": "bf16", "f8": "f64", "i4": "i32", "i8": "i64", "u4": "u32", "u8": "u64",
            "u1": "u8", "b1": "u8"}
_DLPACK = {(2, 32): "f32", (2, 16): "f16", (4, 16): "bf16", (2, 64): "f64", (0, 32): "i32", (0, 64): "i64",
           (1, 32): "u32", (1, 64): "u64", (1, 8): "u8", (6, 8): "u8"}
_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "f64": 8, "i32": 4, "i64": 8, "u32": 4, "u64": 8, "u8": 1}
_DLPACK_ON_GPU = (2, 13)  # kDLCUDA, kDLCUDAManaged


class Layout(NamedTuple):
    """All of a tensor but its address: what calls are remembered under."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # in elements; None: dense
    device: int | None  # None: not known
    readonly: bool


class Tensor(NamedTuple):
    address: int
    layout: Layout
    stream: int | None  # on which its contents are made, as __cuda_array_interface__ says it
    owner: Any  # to be kept while the launch is made


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.argtypes, _capsule_pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


def dtype_name(dtype: Any) -> str:
    """"bf16" of "bf16", torch.bfloat16, numpy.dtype("float32"), numpy.float32…"""
    text = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None) or str(dtype)
    return TORCH_TYPES.get(text.rpartition(".")[2], text)


def is_dense(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> bool:
    """Whether row-major elements follow one another; extents of 1 have no stride."""
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides or ())):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


def _layout(dtype: str, shape: tuple[int, ...], strides: tuple[int, ...] | None, device: int | None,
            readonly: bool) -> Layout:
    return Layout(dtype, shape, None if is_dense(shape, strides) else strides, device, readonly)


def from_torch(tensor: Any) -> Tensor:
    if tensor.device.type != "cuda":
        raise UsageError(f"it is on {tensor.device}, not on a GPU")
    dtype = TORCH_TYPES.get(str(tensor.dtype).rpartition(".")[2], str(tensor.dtype))
    layout = _layout(dtype, tuple(tensor.shape), tuple(tensor.stride()), tensor.device.index, False)
    return Tensor(tensor.data_ptr(), layout, None, tensor)


@functools.lru_cache(maxsize=4096)
def _interface_layout(shape: tuple[int, ...], typestr: str, strides: tuple[int, ...] | None, readonly: bool) -> Layout:
    dtype = _TYPESTR.get(typestr[1:], typestr) if typestr[0] in "<|=" else typestr
    if strides is not None and dtype in _BYTES:
        if any(stride % _BYTES[dtype] for stride in strides):
            raise UsageError(f"its strides of {strides} bytes are not whole elements")
        strides = tuple(stride // _BYTES[dtype] for stride in strides)
    return _layout(dtype, shape, strides, None, readonly)


def from_array_interface(array: Any) -> Tensor:
    interface = array.__cuda_array_interface__
    address, readonly = interface["data"]
    if interface.get("mask") is not None:
        raise UsageError("it is masked")
    layout = _interface_layout(interface["shape"], interface["typestr"], interface.get("strides"), readonly)
    return Tensor(address or 0, layout, interface.get("stream"), array)


def dlpack_device(array: Any) -> int:
    """The GPU that it is on."""
    kind, index = (int(number) for number in array.__dlpack_device__())
    if kind not in _DLPACK_ON_GPU:
        raise UsageError(f"it is not in a GPU's memory (DLPack device {kind}:{index})")
    return index


def from_dlpack(array: Any, stream: int | None) -> Tensor:
    index = dlpack_device(array)
    # 1 is the legacy default stream there.
    capsule = array.__dlpack__(stream=1 if not stream else stream)
    # Its destructor releases what was never consumed.
    dl = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    dtype = _DLPACK.get((dl.code, dl.bits)) if dl.lanes == 1 else None
    shape = tuple(dl.shape[: dl.ndim]) if dl.ndim else ()
    strides = tuple(dl.strides[: dl.ndim]) if dl.ndim and dl.strides else None
    name = dtype or f"DLPack type {dl.code}:{dl.bits}x{dl.lanes}"
    return Tensor((dl.data or 0) + dl.byte_offset, _layout(name, shape, strides, index, False), None, capsule)


def row_pitch(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> int | None:
    """Elements from one row (the last extent) to the next; None where that is not one number, or a row has gaps."""
    row = shape[-1] if shape else 1
    rows = [(extent, stride) for extent, stride in zip(shape[:-1], (strides or ())[:-1]) if extent != 1]
    if all(extent == 1 for extent in shape[:-1]):
        # One row has no next: let it be as well aligned as can be.
        return -(-row // 128) * 128 if strides is None or row == 1 or strides[-1] == 1 else None
    if strides is None:
        return row
    if row != 1 and strides[-1] != 1:
        return None
    for (_, outer), (extent, inner) in zip(rows, rows[1:]):
        if outer != extent * inner:
            return None
    return rows[-1][1]


def extent_strides(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> list[int] | None:
    """Elements from one index to the next of each extent but the last; None where the last has gaps. Of an extent of
    one, which has no next, as if it had no gaps: what a library says there may be anything."""
    if strides is not None and shape[-1] != 1 and strides[-1] != 1:
        return None
    found: list[int] = []
    inner = shape[-1] if shape else 1
    for i in range(len(shape) - 2, -1, -1):
        stride = inner if strides is None or shape[i] == 1 else strides[i]
        found.append(stride)
        inner = max(inner, shape[i] * stride)
    return found[::-1]
