# SPDX-License-Identifier: Apache-2.0
"""An op that is called with tensors, and what is served for it."""
from __future__ import annotations

import ctypes
import dataclasses
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _streams, _tensors
from ._call import CallPlan, Frame, Prepared
from ._library import DeviceError, Extent, Pointer, UsageError, check, error_of, json_of

if TYPE_CHECKING:
    from ._launcher import Launcher

# Layouts and streams that never come again must not fill the memory.
_MOST_REMEMBERED = 4096


@dataclasses.dataclass(frozen=True)
class Match:
    """What is served for a shape, and how well it fits. Times are those of `tuned_for`, in nanoseconds, None where
    nobody timed it; where this shape was not tuned, `expected_ns` and `expected_loss` (0.03: 3 % slower than the
    fastest) are of it, by `expected_by`. `bytes` are this shape's. `json` is all that the library says."""

    fit: str
    match: str
    device: str
    cache: str
    problem: str
    config: str | None
    tuned_for: str | None
    median_ns: float | None
    low_ns: float | None
    high_ns: float | None
    base_ns: float | None
    bytes: int
    expected_ns: float | None
    expected_loss: float | None
    expected_by: str | None
    why: str | None
    json: dict[str, Any] = dataclasses.field(repr=False)

    def __bool__(self) -> bool:
        """Whether anything is served."""
        return self.config is not None


class Op:
    """An op with its dtype and attributes fixed, from `tilewright.op` or `Launcher.op`. Called with the op's tensors
    and scalars in the definition's order, it launches the fastest kernel known and returns at once. Any number of
    threads may use it."""

    def __init__(self, launcher: Launcher, spec: str):
        self._launcher = launcher
        self._library = launcher._library
        self._launch = self._library.tw_launch
        handle = Pointer()
        check(self._library, self._library.tw_op_get(launcher._require(), spec.encode(), ctypes.byref(handle)))
        self._op = handle
        self._description = json_of(self._library, "tw_op_describe", handle)
        self._plan = plan = CallPlan(self._description)
        self._n_passed = len(plan.passed)
        # As tw_launch takes them.
        self._n_args, self._n_dims = ctypes.c_size_t(len(plan.args)), ctypes.c_size_t(len(plan.dims))
        self._pick_tensors, self._pick_scalars, self._pack_into = plan.pick_tensors, plan.pick_scalars, plan.pack_into
        self._has_plain_scalars = not plan.has_bf16_scalars
        # A combination of layouts, as torch or as _tensors tells them, and what was found of it.
        self._prepared: dict[Any, Prepared] = {}
        # Frames that no launch is using; a thread takes one and puts it back.
        self._frames: list[Frame] = []
        self._streams: dict[int, Pointer] = {}
        self._torch: _streams.Torch | None = None
        self._layouts_of: Any = None

    def __repr__(self) -> str:
        return f"<tilewright.Op {self._plan.spec}({', '.join(arg.name for arg in self._plan.passed)})>"

    @property
    def spec(self) -> str:
        """"rmsnorm[dtype=bf16,pitch=dense]"."""
        return self._plan.spec

    def describe(self) -> dict[str, Any]:
        """Dims and arguments; see tw_op_describe in tilewright.h."""
        return dict(self._description)

    def __call__(self, *args: Any, stream: Any = None, dims: Sequence[int] | None = None) -> None:
        """Launches on `stream`, else on torch's current stream if torch is in use, else on that which the arrays name,
        else on the default one. `dims` are told from the tensors' shapes; pass them only for an op where they do not
        follow. Raises a UsageError for what is not as the op's definition has it."""
        if len(args) != self._n_passed:
            self._plan.refuse_count(len(args))
        torch = self._torch
        if torch is not None and dims is None:
            tensors = self._pick_tensors(args)
            try:
                # Layouts as torch tells them fastest; the strides only where they count.
                key = (*map(torch.shape_and_type, tensors), *map(torch.device_of, tensors),
                       *map(self._layouts_of, tensors))
                prepared = self._prepared.get(key)
                if prepared is not None:
                    device = prepared.device
                    if torch.has_one_device or torch.current_device() == device:
                        handle = torch.raw_stream(device) if stream is None else _streams.handle_of(stream)
                        return self._submit(handle, prepared, map(torch.address, tensors), self._pick_scalars(args))
            except (AttributeError, TypeError):
                pass  # some are not torch's tensors
        return self._call_slowly(args, stream, dims)

    def _submit(self, stream: int, prepared: Prepared, addresses: Any, scalars: Sequence[Any]) -> None:
        if not self._has_plain_scalars:
            self._plan.refuse_scalars(scalars)
            scalars = self._plan.convert_scalars(scalars)
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = self._plan.new_frame()
        try:
            self._pack_into(frame.values, 0, *addresses, *scalars, *prepared.pitches)
        except (struct.error, OverflowError):
            self._plan.refuse_scalars(scalars)
            raise
        try:
            pointer = self._streams[stream]
        except KeyError:
            pointer = self._stream_pointer(stream)
        code = self._launch(self._op, pointer, prepared.dims, self._n_dims, frame.pointers, self._n_args)
        if code:
            code = self._try_again(code, pointer, prepared, frame)
        self._frames.append(frame)
        if code:
            raise self._error(code)

    def _stream_pointer(self, stream: int) -> Pointer:
        if len(self._streams) >= _MOST_REMEMBERED:
            self._streams.clear()
        pointer = self._streams[stream] = Pointer(stream)
        return pointer

    def _try_again(self, code: int, stream: Pointer, prepared: Prepared, frame: Frame) -> int:
        """A thread's first launch with torch may come before torch has made the GPU's context current on it."""
        if code != DeviceError.code or self._torch is None or prepared.device is None:
            return code
        if b"no CUDA context is current" not in self._library.tw_last_error():
            return code
        self._torch.make_context_current(prepared.device)
        return int(self._launch(self._op, stream, prepared.dims, self._n_dims, frame.pointers, self._n_args))

    def _error(self, code: int) -> Exception:
        if not self._launcher.is_open:
            return UsageError(f"{self.spec}: its launcher is closed")
        return error_of(self._library, code)

    def _call_slowly(self, args: Sequence[Any], stream: Any, dims: Sequence[int] | None) -> None:
        """Any objects, and the first call with tensors of these layouts."""
        torch = _streams.torch_if_imported()
        handle = None if stream is None else _streams.handle_of(stream)
        given = self._pick_tensors(args)
        tensors = self._read(given, handle, torch)
        layouts = tuple([tensor.layout for tensor in tensors])
        key = layouts if dims is None else (layouts, tuple(dims))
        prepared = self._prepared.get(key)
        if prepared is None:
            prepared = self._plan.prepare(layouts, self._dims_of, dims)
            self._remember(key, prepared)
        if torch is not None:
            self._use_torch(torch, given, prepared, dims)
        device = prepared.device
        if torch is None and device is not None and _streams.current_device() not in (None, device):
            raise UsageError(f"{self.spec}: the tensors are on GPU {device}, and the context that is current is GPU "
                             f"{_streams.current_device()}'s")
        if handle is None:
            made_on = _streams.stream_of(tensors)
            if torch is not None:
                handle = torch.raw_stream(device if device is not None else torch.current_device())
                if handle != made_on and any(tensor.stream is not None for tensor in tensors):
                    raise UsageError(f"{self.spec}: the arrays are made on the stream {made_on:#x}, and torch's "
                                     f"current one is {handle:#x}; pass stream=")
            else:
                handle = made_on
        addresses, scalars = [tensor.address for tensor in tensors], self._pick_scalars(args)
        if torch is not None and device is not None and torch.current_device() != device:
            with torch.torch.cuda.device(device):
                return self._submit(handle, prepared, addresses, scalars)
        return self._submit(handle, prepared, addresses, scalars)

    def _read(self, given: Sequence[Any], stream: int | None, torch: _streams.Torch | None) -> list[_tensors.Tensor]:
        tensors = []
        for i, value in enumerate(given):
            try:
                if torch is not None and isinstance(value, torch.tensor_type):
                    tensors.append(_tensors.from_torch(value))
                elif hasattr(value, "__cuda_array_interface__"):
                    tensors.append(_tensors.from_array_interface(value))
                elif hasattr(value, "__dlpack__"):
                    used = stream
                    if used is None and torch is not None:
                        used = torch.raw_stream(_tensors.dlpack_device(value))
                    tensors.append(_tensors.from_dlpack(value, used))
                else:
                    raise UsageError(f"{type(value).__name__} is no tensor of a GPU: it has neither "
                                     "__cuda_array_interface__ nor __dlpack__")
            except UsageError as error:
                raise UsageError(f"{self.spec}: '{self._plan.tensors[i].name}': {error}") from None
        return tensors

    def _use_torch(self, torch: _streams.Torch, given: Sequence[Any], prepared: Prepared,
                   dims: Sequence[int] | None) -> None:
        """From now on calls with torch's tensors alone go the short way."""
        if self._layouts_of is None:  # of those of tilewright.torch, `_torch` is there already
            has_pitches = any(arg.places for arg in self._plan.tensors)
            self._layouts_of = torch.strides if has_pitches else torch.is_contiguous
            self._torch = torch
        if dims is None and all(isinstance(tensor, torch.tensor_type) for tensor in given):
            self._remember((*map(torch.shape_and_type, given), *map(torch.device_of, given),
                            *map(self._layouts_of, given)), prepared)

    def _remember(self, key: Any, prepared: Prepared) -> None:
        if len(self._prepared) >= _MOST_REMEMBERED:
            self._prepared.clear()
        self._prepared[key] = prepared

    def _dims_of(self, shapes: Sequence[Sequence[int]]) -> Any:
        by_name = dict(zip((arg.name for arg in self._plan.tensors), shapes))
        extents = [by_name.get(arg.name, ()) for arg in self._plan.args]
        arrays = [(Extent * max(1, len(shape)))(*shape) for shape in extents]
        pointers = (Pointer * len(arrays))(*(ctypes.addressof(array) for array in arrays))
        ranks = (ctypes.c_size_t * len(arrays))(*map(len, extents))
        dims = (Extent * len(self._plan.dims))()
        check(self._library, self._library.tw_op_dims(self._op, pointers, ranks, len(arrays), dims, len(dims)))
        return dims

    def dims(self, *args: Any) -> dict[str, int]:
        """The dims of a call with these arguments, by name, after every check that the call itself would make."""
        if len(args) != self._n_passed:
            self._plan.refuse_count(len(args))
        tensors = self._read(self._pick_tensors(args), None, _streams.torch_if_imported())
        prepared = self._plan.prepare([tensor.layout for tensor in tensors], self._dims_of)
        return dict(zip(self._plan.dims, prepared.dims))

    def _named_dims(self, dims: Sequence[int], named: dict[str, int]) -> Any:
        if named:
            if dims or set(named) != set(self._plan.dims):
                raise UsageError(f"{self.spec} has the dims {', '.join(self._plan.dims)}; given are {', '.join(named)}")
            dims = [named[name] for name in self._plan.dims]
        return (Extent * len(dims))(*dims)

    def match(self, *dims: int, **named: int) -> Match:
        """What a launch of this shape is served: `match(4096, 8192)` or `match(rows=4096, cols=8192)`. With a device
        named in the launcher it needs no GPU."""
        self._launcher._require()
        values = self._named_dims(dims, named)
        answer = json_of(self._library, "tw_query", self._op, values, len(values))
        fields: dict[str, Any] = {field.name: answer.get(field.name) for field in dataclasses.fields(Match)}
        return Match(**{**fields, "json": answer})

    def preload(self, *dims: int, **named: int) -> None:
        """Makes the first launch of this shape in the current context as quick as any other."""
        self._launcher._require()
        values = self._named_dims(dims, named)
        check(self._library, self._library.tw_preload(self._op, values, len(values)))

    def workspace_bytes(self, *dims: int, **named: int) -> int:
        """What launches of this shape need, for `Launcher.set_workspace`; 0 for most ops."""
        self._launcher._require()
        values = self._named_dims(dims, named)
        size = ctypes.c_size_t()
        check(self._library, self._library.tw_workspace_bytes(self._op, values, len(values), ctypes.byref(size)))
        return size.value
