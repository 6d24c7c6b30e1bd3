# SPDX-License-Identifier: Apache-2.0
"""The launch library through its C functions (tilewright/tilewright.h)."""
import ctypes
import json
import os
import pathlib
import sqlite3

U64, P = ctypes.c_uint64, ctypes.c_void_p
I64 = ctypes.c_int64


class LibraryError(Exception):
    pass


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("cache", ctypes.c_char_p), ("device", ctypes.c_char_p),
                ("allow_shared_cache", ctypes.c_int)]


def find_library(named=None):
    """`named`, else beside these scripts in a bundle, else in a build tree."""
    if named:
        return pathlib.Path(named)
    root = pathlib.Path(__file__).resolve().parents[2]
    places = [root / "lib" / "libtilewright.so"] + sorted(root.glob("build/*/lib/libtilewright.so"))
    for place in places:
        if place.exists():
            return place
    raise LibraryError(f"no libtilewright.so is in {root}/lib or {root}/build: name it with --library FILE")


class Launcher:
    """An open cache. Ops live as long as it does."""

    def __init__(self, library, cache=None, device=None):
        self._lib = ctypes.CDLL(str(library))
        declare = {
            "tw_open_with": [ctypes.POINTER(_Options), ctypes.POINTER(P)],
            "tw_op_get": [P, ctypes.c_char_p, ctypes.POINTER(P)],
            "tw_op_describe": [P, ctypes.POINTER(P)],
            "tw_launch": [P, P, ctypes.POINTER(I64), ctypes.c_size_t, ctypes.POINTER(P), ctypes.c_size_t],
            "tw_query": [P, ctypes.POINTER(I64), ctypes.c_size_t, ctypes.POINTER(P)],
        }
        for name, types in declare.items():
            function = getattr(self._lib, name)
            function.argtypes, function.restype = types, ctypes.c_int
        self._lib.tw_last_error.argtypes, self._lib.tw_last_error.restype = [], ctypes.c_char_p
        self._lib.tw_version.argtypes, self._lib.tw_version.restype = [], ctypes.c_char_p
        for name in ("tw_close", "tw_free"):
            getattr(self._lib, name).argtypes, getattr(self._lib, name).restype = [P], None
        options = _Options(size=ctypes.sizeof(_Options), cache=str(cache).encode() if cache else None,
                           device=device.encode() if device else None)
        self._handle = P()
        self.check(self._lib.tw_open_with(ctypes.byref(options), ctypes.byref(self._handle)))

    def close(self):
        if self._handle:
            self._lib.tw_close(self._handle)
            self._handle = P()

    @property
    def version(self):
        return self._lib.tw_version().decode()

    def op(self, spec):
        handle = P()
        self.check(self._lib.tw_op_get(self._handle, spec.encode(), ctypes.byref(handle)))
        return Op(self, handle)

    def check(self, code):
        if code != 0:
            raise LibraryError(self._lib.tw_last_error().decode(errors="replace"))

    def json_of(self, function, *arguments):
        text = P()
        self.check(getattr(self._lib, function)(*arguments, ctypes.byref(text)))
        try:
            return json.loads(ctypes.string_at(text.value).decode())
        finally:
            self._lib.tw_free(text)

    @property
    def functions(self):
        return self._lib


class Op:
    def __init__(self, launcher, handle):
        self.launcher, self.handle = launcher, handle

    def describe(self):
        return self.launcher.json_of("tw_op_describe", self.handle)

    def query(self, dims):
        """What a launch of this shape is served."""
        return self.launcher.json_of("tw_query", self.handle, (I64 * len(dims))(*dims), len(dims))

    def call(self, dims, values):
        """A launch with everything laid out: `values` are addresses (int) and scalars as ctypes values, in the op's
        order. The result is called with a stream's address."""
        extents = (I64 * len(dims))(*dims)
        kept = [value if isinstance(value, ctypes._SimpleCData) else U64(value) for value in values]
        pointers = (P * len(kept))(*[ctypes.addressof(value) for value in kept])
        launch, handle, check = self.launcher.functions.tw_launch, self.handle, self.launcher.check
        n_dims, n_args = len(dims), len(kept)

        def run(stream):
            code = launch(handle, P(stream), extents, n_dims, pointers, n_args)
            if code != 0:
                check(code)

        run.kept = kept  # pointers[] points into these
        return run


def scalar(kind, value):
    return {"f32": ctypes.c_float, "u64": ctypes.c_uint64}[kind](value)


def tuned_copies(cache, dtype, reads):
    """Every n for which the cache has a winner of copy[dtype,reads], in order. An op of the cache that was never tuned has
    none; nor has a cache that another program holds in a form that cannot be read beside it."""
    text = f"copy[dtype={dtype},reads={reads}]"
    with sqlite3.connect(f"file:{pathlib.Path(cache).resolve()}?mode=ro", uri=True) as database:
        rows = database.execute(
            "SELECT DISTINCT problems.dims FROM winners JOIN problems ON problems.id = winners.problem "
            "JOIN specs ON specs.id = winners.spec WHERE specs.text = ? AND winners.role = 'best'", (text,))
        return sorted(int(dims.split("=", 1)[1]) for (dims,) in rows)


def nearest_copy(tuned, n, most_off=0.02):
    """The tuned n nearest to `n`, if it is within `most_off` of it; else None."""
    best = min(tuned, key=lambda other: abs(other - n), default=None)
    return best if best is not None and abs(best - n) <= most_off * n else None


def default_cache():
    """As the library finds it."""
    named = os.environ.get("TILEWRIGHT_CACHE")
    if named:
        return named
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(folder, "tilewright", "cache.db")
