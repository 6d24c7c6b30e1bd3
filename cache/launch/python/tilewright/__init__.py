# SPDX-License-Identifier: Apache-2.0
"""Launches the fastest CUDA kernel that a cache knows for a shape: no compiler and no tuning at run time.

    import tilewright
    rmsnorm = tilewright.op("rmsnorm", dtype="bf16")
    rmsnorm(x, weight, y, 1e-6)         # on torch's current stream
    print(rmsnorm.match(rows=4096, cols=8192).config)

Tuning runs the program beside the library:

    tilewright.sweep("rmsnorm", {"rows": [1, 4096], "cols": 8192, "dtype": "bf16"})

Tensors are torch's, or anything with `__cuda_array_interface__` or `__dlpack__`."""
from __future__ import annotations

import threading
from typing import Any

from ._launcher import Launcher, shipped_winners
from ._library import CacheError, DeviceError, Error, InterfaceError, NoMatchError, UsageError, load
from ._op import Match, Op
from ._tuning import Definition, Table, query, sweep, table

__all__ = ["CacheError", "Definition", "DeviceError", "Error", "InterfaceError", "Launcher", "Match", "NoMatchError",
           "Op", "Table", "UsageError",
           "counts", "default_launcher", "op", "query", "refresh", "shipped_winners", "sweep", "table"]

_default: Launcher | None = None
_lock = threading.Lock()


def default_launcher() -> Launcher:
    """The one of this module's functions, opened at first use: the cache is $TILEWRIGHT_CACHE, else the user's, with
    the shipped winners for what that cannot serve."""
    global _default
    if _default is None or not _default.is_open:
        with _lock:
            if _default is None or not _default.is_open:
                _default = Launcher()
    return _default


def op(name: str, *, interface: str | None = None, **attributes: Any) -> Op:
    """An op of the default launcher; see Launcher.op."""
    return default_launcher().op(name, interface=interface, **attributes)


def counts() -> dict[str, int]:
    """How often the default launcher was served exactly, nearly, by the base, and not at all; see Launcher.counts."""
    return default_launcher().counts()


def refresh() -> None:
    """Picks up a newer cache in the default launcher; see Launcher.refresh."""
    default_launcher().refresh()


def __getattr__(name: str) -> str:
    # The library's own, so that there is one; it is not loaded before it is needed.
    if name == "__version__":
        return str(load().tw_version().decode())
    raise AttributeError(f"module 'tilewright' has no attribute '{name}'")
