# SPDX-License-Identifier: Apache-2.0
"""The C functions of libtilewright.so (tilewright/tilewright.h), and its error codes as exceptions. One copy of the
library a process; any number of threads."""
from __future__ import annotations

import ctypes
import functools
import json
import os
import pathlib
from typing import Any

Pointer = ctypes.c_void_p
Extent = ctypes.c_int64
_Text, _Size, _Out = ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)
_Dims = ctypes.POINTER(Extent)


class Error(RuntimeError):
    """What failed, to what it was done, and why. `code` is the C function's, TW_ERROR_…"""

    code = 6


class UsageError(Error, ValueError):
    """A wrong argument: an unknown op, a tensor of another shape, dtype or layout…"""

    code = 1


class CacheError(Error):
    """The cache is missing, damaged, newer than the library, or writable by others."""

    code = 2


class DeviceError(Error):
    """No driver, no GPU, no current context, or a failed call of the driver."""

    code = 3


class NoMatchError(Error):
    """Nothing in the cache can serve this shape with these tensors on this GPU."""

    code = 4


class InterfaceError(Error):
    """The op's arguments are not those that the program was written for."""

    code = 5


_ERRORS = {kind.code: kind for kind in (UsageError, CacheError, DeviceError, NoMatchError, InterfaceError)}


class Options(ctypes.Structure):
    """tw_options."""

    _fields_ = [("size", _Size), ("cache", _Text), ("device", _Text), ("allow_shared_cache", ctypes.c_int),
                ("misses", _Text), ("watch_ms", ctypes.c_int), ("fallback", _Text),
                ("jit", ctypes.c_int), ("ops", _Text), ("snapshot", _Text)]


_FUNCTIONS: dict[str, list[Any] | None] = {
    "tw_open_with": [ctypes.POINTER(Options), _Out],
    "tw_op_get": [Pointer, _Text, _Out],
    "tw_op_describe": [Pointer, _Out],
    "tw_op_dims": [Pointer, ctypes.POINTER(Pointer), ctypes.POINTER(_Size), _Size, _Dims, _Size],
    # Not declared: declared conversions cost more than the call itself. Every argument must be a ctypes value.
    "tw_launch": None,
    "tw_query": [Pointer, _Dims, _Size, _Out],
    "tw_preload": [Pointer, _Dims, _Size],
    "tw_refresh": [Pointer],
    "tw_counts": [Pointer, _Out],
    "tw_snapshot": [Pointer, _Out],
    "tw_workspace_bytes": [Pointer, _Dims, _Size, ctypes.POINTER(_Size)],
    "tw_set_workspace": [Pointer, Pointer, Pointer, _Size],
}


def find_library() -> pathlib.Path:
    """$TILEWRIGHT_LIBRARY, else the one inside this package, else the one of the bundle that this package lies in."""
    if os.environ.get("TILEWRIGHT_LIBRARY"):
        return pathlib.Path(os.environ["TILEWRIGHT_LIBRARY"])
    package = pathlib.Path(__file__).resolve().parent
    places = [package / "libtilewright.so", package.parents[1] / "lib" / "libtilewright.so"]
    for place in places:
        if place.exists():
            return place
    raise Error(f"libtilewright.so is neither {' nor '.join(map(str, places))}; name it in TILEWRIGHT_LIBRARY")


@functools.cache
def load(path: pathlib.Path | None = None) -> ctypes.CDLL:
    """The library with its functions declared."""
    file = path or find_library()
    try:
        library = ctypes.CDLL(str(file))
    except OSError as error:
        raise Error(f"{file} cannot be loaded: {error}") from None
    for name, types in _FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = types, ctypes.c_int
    for name, result in (("tw_last_error", _Text), ("tw_version", _Text)):
        getattr(library, name).argtypes, getattr(library, name).restype = [], result
    for name in ("tw_close", "tw_free"):
        getattr(library, name).argtypes, getattr(library, name).restype = [Pointer], None
    return library


def error_of(library: ctypes.CDLL, code: int) -> Error:
    """The exception of a function that returned `code` on this thread."""
    error = _ERRORS.get(code, Error)(library.tw_last_error().decode(errors="replace"))
    error.code = code
    return error


def check(library: ctypes.CDLL, code: int) -> None:
    if code != 0:
        raise error_of(library, code)


def json_of(library: ctypes.CDLL, function: str, *arguments: Any) -> dict[str, Any]:
    """What a function answers in its last argument."""
    text = Pointer()
    check(library, getattr(library, function)(*arguments, ctypes.byref(text)))
    try:
        return dict(json.loads(ctypes.string_at(text.value or 0)))
    finally:
        library.tw_free(text)
