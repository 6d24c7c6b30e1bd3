# SPDX-License-Identifier: Apache-2.0
"""An open cache, and the ops of it."""
from __future__ import annotations

import ctypes
import os
import pathlib
import threading
from collections.abc import Sequence
from typing import Any

from . import _streams
from ._library import Options, Pointer, UsageError, check, json_of, load
from ._op import Op
from ._tensors import dtype_name


def spec_of(name: str, interface: str | None, attributes: dict[str, Any]) -> str:
    """"gemm[dtype=bf16,bias=yes]" of gemm and {dtype: torch.bfloat16, bias: True}; a name that is a spec already
    stays."""
    if "[" in name or "@" in name:
        if attributes or interface:
            raise UsageError(f"'{name}' is a whole spec; pass its attributes in it or as keywords, not both")
        return name
    words = []
    for key, value in attributes.items():
        if isinstance(value, bool):
            value = "yes" if value else "no"
        words.append(f"{key}={dtype_name(value) if key == 'dtype' else value}")
    return f"{name}{'@' + interface if interface else ''}[{','.join(words)}]" if words or interface else name


def _bytes(path: str | os.PathLike[str] | None) -> bytes | None:
    return None if path is None else os.fsencode(path)


class Launcher:
    """An open cache, for any number of threads. `close` it, or use it in a `with`, when all that it launched is done;
    one that is never closed lives as long as the process.

    cache: a cache or a bundle; None: $TILEWRIGHT_CACHE, else the user's. fallback: what serves what that cannot, as
    `Op.match` says; None: the shipped winners, where no cache or snapshot is named. device: what `Op.match` answers
    for, "NVIDIA H200" say, where there is no GPU. allow_shared_cache: use the cache even where others can write it.
    misses: the file of shapes that were asked for and not tuned, or "off"; None: as $TILEWRIGHT_MISSES says. watch_ms:
    how often to look for a newer cache, which is then used as after `refresh`. jit: compile configs for shapes that
    were never tuned, on a thread of its own, by libtilewright-jit.so ($TILEWRIGHT_LIBJIT); ops: folders of ops for
    that. snapshot: "sha256:...", this one and no other, and none that is newer; None: as $TILEWRIGHT_SNAPSHOT says."""

    def __init__(self, cache: str | os.PathLike[str] | None = None, *, fallback: str | os.PathLike[str] | None = None,
                 device: str | None = None, allow_shared_cache: bool = False,
                 misses: str | os.PathLike[str] | None = None, watch_ms: int = 0, jit: bool = False,
                 ops: Sequence[str | os.PathLike[str]] = (), snapshot: str | None = None):
        self._library = load()
        self._ops: dict[Any, Op] = {}
        # What others of this package know of the cache; a new one is begun when the cache may be another.
        self._known: dict[Any, Any] = {}
        self._lock = threading.Lock()
        options = Options(size=ctypes.sizeof(Options), cache=_bytes(cache), fallback=_bytes(fallback),
                          device=None if device is None else device.encode(), allow_shared_cache=allow_shared_cache,
                          misses=_bytes(misses), watch_ms=watch_ms, jit=jit,
                          ops=b":".join(os.fsencode(folder) for folder in ops) or None,
                          snapshot=None if snapshot is None else snapshot.encode())
        handle = Pointer()
        check(self._library, self._library.tw_open_with(ctypes.byref(options), ctypes.byref(handle)))
        self._handle: Pointer | None = handle

    def op(self, name: str, *, interface: str | None = None, **attributes: Any) -> Op:
        """`op("gemm", dtype="bf16", act="gelu")`, the same for the same words. What is left out takes its default.
        `interface`: refuse the op unless its dims and arguments are still those (`describe()["interface"]`)."""
        key = (name, interface, *attributes.items())
        op = self._ops.get(key)
        if op is None:
            with self._lock:
                op = self._ops.get(key)  # another thread may have been faster
                if op is None:
                    op = self._ops[key] = Op(self, spec_of(name, interface, attributes))
        return op

    def refresh(self) -> None:
        """Picks up a newer cache; launches go on meanwhile. On failure the old state stays in use."""
        check(self._library, self._library.tw_refresh(self._require()))
        self._known = {}

    def counts(self) -> dict[str, int]:
        """How often the cache was asked who serves, by how well the answer fits: exact, nearest, default, none, and of
        those that were served stale and same_architecture. A shape counts at its first launch, not at later ones."""
        return json_of(self._library, "tw_counts", self._require())

    def snapshot(self) -> dict[str, Any]:
        """What ranks of a job compare: "cache" (the file), "snapshot" ("sha256:...", or None and "why"), "pinned",
        "plans" and "plans_digest", the same where the same shapes were launched and are served alike. Reads the whole
        file the first time."""
        return json_of(self._library, "tw_snapshot", self._require())

    def set_workspace(self, stream: Any, memory: Any, nbytes: int | None = None) -> None:
        """Memory of the caller's for launches on `stream`: an address and its bytes, a torch tensor of bytes, or None
        for the launcher's own again. It must live until those launches are done."""
        if memory is None:
            memory, nbytes = 0, 0
        elif not isinstance(memory, int):
            memory, nbytes = memory.data_ptr(), memory.numel() * memory.element_size()
        check(self._library, self._library.tw_set_workspace(
            self._require(), 0 if stream is None else _streams.handle_of(stream), memory, nbytes or 0))

    @property
    def is_open(self) -> bool:
        return self._handle is not None

    def close(self) -> None:
        """Frees the kernels and workspaces; its ops end with it. All that it launched must be done, on the device
        too."""
        with self._lock:
            handle, self._handle = self._handle, None
            for op in self._ops.values():
                op._op = Pointer()
            self._ops.clear()
        if handle is not None:
            self._library.tw_close(handle)

    def __enter__(self) -> Launcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _require(self) -> Pointer:
        if self._handle is None:
            raise UsageError("the launcher is closed")
        return self._handle


def shipped_winners() -> list[pathlib.Path]:
    """The caches that come with the package, with the bundle that it lies in or with the system, one for each kind of
    GPU: each can be opened by a Launcher, and taken into a cache of your own by `tilewright import`."""
    package = pathlib.Path(__file__).resolve().parent
    prefixes = (package.parents[1], pathlib.Path("/usr/local"), pathlib.Path("/usr"))
    folders = [package / "winners", *(prefix / "share" / "tilewright" / "kernels" / "winners" for prefix in prefixes)]
    return next((caches for caches in (sorted(folder.glob("*.db")) for folder in folders) if caches), [])
