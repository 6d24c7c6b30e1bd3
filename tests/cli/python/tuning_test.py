# SPDX-License-Identifier: Apache-2.0
"""Tuning from Python, by the real program on the emulator."""
import os
import pathlib
import signal
import tempfile
import threading
import time
import unittest

import tilewright
from tilewright import _tuning

TOML = """
[op]
name = "negate"
summary = "y = -x"
dims = ["n"]
dtypes = ["f32"]
args = [
  { name = "x", role = "in", type = "dtype", shape = ["n"] },
  { name = "y", role = "out", type = "dtype", shape = ["n"] },
]
bytes = "2 * n * sizeof(dtype)"
flops = "n"
base = "simple{width=64}"
reference = { source = "negate.cu", entry = "negate_reference" }
tolerance = { f32 = [1e-6, 1e-6] }
grid = { n = "1000" }

[[implementation]]
name = "simple"
source = "negate.cu"
requires = "sm_80"
space = { width = [32, 64] }

[[implementation.kernel]]
entry = "negate"
params = ["ptr:x", "ptr:y", "dim:n"]
grid = ["min(ceil_div(n, width), 65535)"]
block = ["width"]
shared_bytes = "0"
"""
SOURCE = """
#include "device/config.cuh"
#include "device/convert.cuh"

template <class Config>
__global__ void negate(const typename Config::dtype* x, typename Config::dtype* y, long long n) {
  const long long step = 1LL * gridDim.x * Config::width;
  for (long long i = 1LL * blockIdx.x * Config::width + threadIdx.x; i < n; i += step) y[i] = -x[i];
}

template <class Config>
__global__ void negate_reference(const typename Config::dtype* x, double* y, long long n) {
  const long long step = 1LL * gridDim.x * blockDim.x;
  for (long long i = 1LL * blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    y[i] = -tilewright::to_float(x[i]);
  }
}
"""


class Words(unittest.TestCase):
    def test_booleans_are_yes_and_no_as_for_a_launcher(self):
        words, _ = _tuning._problem("gemm", {"m": [1, 8], "bias": True, "residual": [False, True], "act": "gelu"}, ())
        self.assertEqual(words, ["gemm", "m=1,8", "bias=yes", "residual=no,yes", "act=gelu"])


class Tuning(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.cache = pathlib.Path(cls.folder.name) / "cache.db"
        cls.op = tilewright.Definition(TOML, SOURCE)
        cls.events = []
        cls.swept = tilewright.sweep(cls.op, {"n": [100, 1000]}, cache=cls.cache, device="cpu", budget_ms=5,
                                     progress=cls.events.append, frame=False)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_an_op_of_two_strings_is_swept(self):
        self.assertEqual([row["n"] for row in self.swept], [100, 1000])
        self.assertIsInstance(self.swept[0]["time_ns"], float)
        self.assertEqual(self.swept.summary["outcome"], "done")

    def test_progress_is_told_by_events(self):
        kinds = [event["event"] for event in self.events]
        self.assertEqual(kinds.count("problem_done"), 2)
        self.assertIn("sweep_done", kinds)

    def test_a_query_tells_what_is_served(self):
        row, = tilewright.query(self.op, {"n": 1000}, cache=self.cache, frame=False)
        self.assertEqual(row["match_fit"], "exact")

    def test_a_table_has_all_configs(self):
        rows = tilewright.table(self.op, {"n": 1000}, all=True, cache=self.cache, frame=False)
        self.assertEqual(len(rows), 2)
        self.assertEqual(len(tilewright.table(self.op, where="n > 100", cache=self.cache, frame=False)), 1)

    def test_a_frame_is_given_where_pandas_is(self):
        try:
            import pandas
        except ImportError:
            self.assertIsInstance(tilewright.table(self.op, cache=self.cache), tilewright.Table)
            return
        self.assertIsInstance(tilewright.table(self.op, cache=self.cache), pandas.DataFrame)

    def test_mistakes_are_told_in_the_programs_words(self):
        with self.assertRaisesRegex(tilewright.UsageError, "no dim or attribute 'm'"):
            tilewright.query(self.op, {"m": 1000}, cache=self.cache)
        with self.assertRaisesRegex(tilewright.UsageError, "name = "):
            tilewright.Definition("[op]", SOURCE)
        with self.assertRaises(tilewright.Error):
            tilewright.query("softmax", {"rows": 1, "cols": 1}, cache=self.cache.with_name("none.db"))

    def test_an_interrupt_ends_the_program_and_keeps_what_was_measured(self):
        main = threading.main_thread().ident

        def interrupt(event):
            if event["event"] == "trial" and not told:
                told.append(time.monotonic())
                signal.pthread_kill(main, signal.SIGINT)

        told = []
        with self.assertRaises(KeyboardInterrupt):
            tilewright.sweep(self.op, {"n": list(range(2000, 2040))}, cache=self.cache, device="cpu",
                             progress=interrupt)
        self.assertTrue(told)
        self.assertGreaterEqual(len(tilewright.table(self.op, all=True, cache=self.cache, frame=False)), 4)


if __name__ == "__main__":
    os.environ.setdefault("TILEWRIGHT_MISSES", "off")
    unittest.main()
