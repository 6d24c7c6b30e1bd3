# SPDX-License-Identifier: Apache-2.0
"""The launch library through its Python package, and what a measurement needs besides: calls that are laid out
beforehand."""
import ctypes
import os
import pathlib
import sqlite3
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# In a bundle and in the sources.
sys.path += [str(ROOT / "python"), str(ROOT / "cache" / "launch" / "python")]

import tilewright  # noqa: E402

U64, P = ctypes.c_uint64, ctypes.c_void_p
I64 = ctypes.c_int64
LibraryError = tilewright.Error


def find_library(named=None):
    """`named`, else beside these scripts in a bundle, else in a build tree without a sanitizer."""
    if named:
        return pathlib.Path(named)
    for folder in ("", "build/ci", "build/dev", "build/launch-only"):
        place = ROOT / folder / "lib" / "libtilewright.so"
        if place.exists():
            return place
    raise LibraryError(f"no libtilewright.so is in {ROOT}/lib or {ROOT}/build/{{ci,dev,launch-only}}: "
                       "name it with --library FILE")


class Launcher(tilewright.Launcher):
    """An open cache, through the library in a file: the first one named in a process. Ops live as long as it does."""

    def __init__(self, library, cache=None, device=None):
        os.environ["TILEWRIGHT_LIBRARY"] = str(library)
        super().__init__(cache, device=device)

    @property
    def version(self):
        return tilewright.__version__

    def op(self, spec):
        return Op(self, spec)


class Op(tilewright.Op):
    def query(self, dims):
        """What a launch of this shape is served."""
        return self.match(*dims).json

    def call(self, dims, values):
        """A launch with everything laid out: `values` are addresses (int) and scalars as ctypes values, in the op's
        order. The result is called with a stream's address."""
        extents = (I64 * len(dims))(*dims)
        kept = [value if isinstance(value, ctypes._SimpleCData) else U64(value) for value in values]
        pointers = (P * len(kept))(*[ctypes.addressof(value) for value in kept])
        launch, handle = self._launch, self._op
        n_dims, n_args = ctypes.c_size_t(len(dims)), ctypes.c_size_t(len(kept))

        def run(stream):
            code = launch(handle, P(stream), extents, n_dims, pointers, n_args)
            if code != 0:
                raise self._error(code)

        run.kept = kept  # pointers[] point into these
        return run


def scalar(kind, value):
    return {"f32": ctypes.c_float, "i64": ctypes.c_int64, "u64": ctypes.c_uint64}[kind](value)


def tuned_copies(cache, dtype, reads):
    """Every n for which the cache has a winner of copy[dtype,reads], in order. An op of the cache that was never tuned
    has none; nor has a cache that another program holds in a form that cannot be read beside it."""
    text = f"copy[dtype={dtype},reads={reads}]"
    with sqlite3.connect(f"file:{pathlib.Path(cache).resolve()}?mode=ro", uri=True) as database:
        rows = database.execute(
            "SELECT DISTINCT problems.dims FROM winners JOIN problems ON problems.id = winners.problem "
            "JOIN specs ON specs.id = winners.spec WHERE specs.text = ? AND winners.role = 'best'", (text,))
        return sorted(int(dims.split("=", 1)[1]) for (dims,) in rows)


def launch_floor(cache):
    """The time of an empty launch beside which the cache's copies were timed, the least of all; None where none was."""
    with sqlite3.connect(f"file:{pathlib.Path(cache).resolve()}?mode=ro", uri=True) as database:
        return database.execute(
            "SELECT MIN(trials.floor_ns) FROM trials JOIN problems ON problems.id = trials.problem JOIN specs "
            "ON specs.id = problems.spec WHERE specs.op = 'copy' AND mode = 'cold' AND floor_ns > 0").fetchone()[0]


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
