# SPDX-License-Identifier: Apache-2.0
"""What calls of an op have in common: which arguments are tensors, what their layouts must be, and how values are laid
out for tw_launch. A plan is made once an op; a prepared call once for each combination of layouts."""
from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from ._library import Extent, UsageError
from ._tensors import Layout, extent_strides, row_pitch

_CODES = {"f32": "f4x", "f64": "d", "i32": "i4x", "i64": "q", "u32": "I4x", "u64": "Q", "u8": "B7x", "f16": "e6x",
          "bf16": "H6x"}
_BYTES_OF_VALUE = 8


class Argument(NamedTuple):
    """As tw_op_describe gives it."""

    name: str
    role: str
    type: str
    shape: Sequence[str]
    pitch: str | None
    strides: Sequence[str] = ()

    @property
    def places(self) -> tuple[str, ...]:
        """The scalars that say where its rows lie."""
        return (self.pitch,) if self.pitch is not None else tuple(self.strides)

    @property
    def is_scalar(self) -> bool:
        return self.role == "scalar"


class Prepared(NamedTuple):
    """What is remembered of a combination of layouts."""

    dims: Any  # ctypes array of int64
    pitches: tuple[int, ...]
    device: int | None


class Frame(NamedTuple):
    """Memory for the values of one launch at a time."""

    values: Any
    pointers: Any


def bf16_bits(value: Any) -> int:
    """The number rounded to nearest, ties to even."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    if math.isnan(value):
        return 0x7FC0
    return int((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


def picker(places: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """A function that takes the items at these places out of a tuple, as a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    return itemgetter(slice(places[0], places[0] + 1) if places else slice(0, 0))


class CallPlan:
    """How a Python call of an op becomes a call of tw_launch: pitches are read from the tensors, so that a caller
    passes tensors and the other scalars, in the definition's order."""

    def __init__(self, description: dict[str, Any]):
        self.spec: str = description["spec"]
        self.dims: tuple[str, ...] = tuple(description["dims"])
        self.args = [Argument(arg["name"], arg["role"], arg["type"], arg.get("shape", ()), arg.get("pitch"),
                              arg.get("strides", ()))
                     for arg in description["args"]]
        # Each once, in the order in which prepare() has their values.
        pitches = list(dict.fromkeys(name for arg in self.args for name in arg.places))
        self.passed = [arg for arg in self.args if arg.name not in pitches]
        self.tensors = [arg for arg in self.passed if not arg.is_scalar]
        self.scalars = [arg for arg in self.passed if arg.is_scalar]
        self.pick_tensors = picker([i for i, arg in enumerate(self.passed) if not arg.is_scalar])
        self.pick_scalars = picker([i for i, arg in enumerate(self.passed) if arg.is_scalar])
        self.has_bf16_scalars = any(arg.type == "bf16" for arg in self.scalars)
        # Values lie in this order, whatever the op's.
        by_name = {arg.name: arg for arg in self.args}
        order = self.tensors + self.scalars + [by_name[name] for name in pitches]
        self._places = [order.index(arg) for arg in self.args]
        self.pack_into = struct.Struct(
            "<" + "".join(_CODES[arg.type] if arg.is_scalar else "Q" for arg in order)).pack_into

    def new_frame(self) -> Frame:
        values = ctypes.create_string_buffer(max(1, len(self.args)) * _BYTES_OF_VALUE)
        address = ctypes.addressof(values)
        pointers = (ctypes.c_void_p * len(self.args))(*(address + _BYTES_OF_VALUE * i for i in self._places))
        return Frame(values, pointers)

    def refuse_count(self, given: int) -> None:
        names = ", ".join(arg.name for arg in self.passed)
        raise UsageError(f"{self.spec} takes {len(self.passed)} arguments ({names}); the call passes {given}")

    def prepare(self, layouts: Sequence[Layout], dims_of: Callable[[Sequence[Sequence[int]]], Any],
                dims: Sequence[int] | None = None) -> Prepared:
        """Checks tensors of these layouts; `dims_of` tells the op's dims from their shapes."""
        devices: dict[int, str] = {}
        pitches: dict[str, int] = {}
        for arg, layout in zip(self.tensors, layouts):
            where = f"{self.spec}: '{arg.name}'"
            if layout.dtype != arg.type:
                raise UsageError(f"{where} has elements of {layout.dtype}; the op takes {arg.type}")
            if layout.readonly and arg.role != "in":
                raise UsageError(f"{where} is written by the op, and is read-only")
            if layout.device is not None:
                devices.setdefault(layout.device, arg.name)
            if arg.pitch is not None:
                pitch = row_pitch(layout.shape, layout.strides)
                if pitch is None:
                    raise UsageError(f"{where} of shape {layout.shape} has the strides {layout.strides}; its rows must "
                                     "have no gaps inside and lie evenly apart")
                self._note(pitches, arg.pitch, pitch, where)
            elif arg.strides:
                for name, stride in zip(arg.strides, self._strides(arg, layout, where)):
                    self._note(pitches, name, stride, where)
            elif layout.strides is not None:
                raise UsageError(f"{where} of shape {layout.shape} is not contiguous: its strides are {layout.strides}"
                                 + self._advice(layout))
        if len(devices) > 1:
            places = ", ".join(f"'{name}' on {device}" for device, name in devices.items())
            raise UsageError(f"{self.spec}: the tensors are on different GPUs: {places}")
        if dims is None:
            values = dims_of([layout.shape for layout in layouts])
        else:
            values = (Extent * len(dims))(*dims)
        return Prepared(values, tuple(pitches.values()), next(iter(devices), None))

    @staticmethod
    def _note(pitches: dict[str, int], name: str, value: int, where: str) -> None:
        if pitches.setdefault(name, value) != value:
            raise UsageError(f"{where} has the stride {value} where '{name}' is {pitches[name]} by another tensor")

    @staticmethod
    def _strides(arg: Argument, layout: Layout, where: str) -> list[int]:
        strides = extent_strides(layout.shape, layout.strides)
        if len(layout.shape) != len(arg.strides) + 1:
            raise UsageError(f"{where} has the shape {layout.shape}; the op takes {len(arg.strides) + 1} extents, "
                             "since each has a stride")
        if strides is None:
            raise UsageError(f"{where} of shape {layout.shape} has the strides {layout.strides}; elements of the last "
                             "extent must be neighbours")
        return strides

    def _advice(self, layout: Layout) -> str:
        if "pitch=dense" in self.spec and row_pitch(layout.shape, layout.strides) is not None:
            return "; rows that lie apart are what the op is opened for with pitch='strided'"
        return ""

    def convert_scalars(self, scalars: Sequence[Any]) -> tuple[Any, ...]:
        """For ops with bf16 among them, which struct does not know."""
        return tuple(bf16_bits(value) if arg.type == "bf16" else value for arg, value in zip(self.scalars, scalars))

    def refuse_scalars(self, scalars: Sequence[Any]) -> None:
        """Raises the error of the first that is not of its type; returns if all are."""
        for arg, value in zip(self.scalars, scalars):
            try:
                struct.pack("<" + _CODES[arg.type], bf16_bits(value) if arg.type == "bf16" else value)
            except (struct.error, OverflowError, TypeError, ValueError) as error:
                raise UsageError(f"{self.spec}: '{arg.name}' is a scalar of type {arg.type}; the call passes {value!r} "
                                 f"({error})") from None
