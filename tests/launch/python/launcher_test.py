# SPDX-License-Identifier: Apache-2.0
"""Opening caches and ops, and what they say."""
import contextlib
import ctypes
import hashlib
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

import tilewright
from recording import DRIVER, SAMPLE_CACHE, Array, LaunchTest
from tilewright import _call, _launcher, _library, _tensors


class Specs(unittest.TestCase):
    def test_words_become_a_spec(self):
        numpy_like = type("float32", (), {})
        self.assertEqual(_launcher.spec_of("gemm", None, {"dtype": "bf16", "bias": True, "act": "gelu"}),
                         "gemm[dtype=bf16,bias=yes,act=gelu]")
        self.assertEqual(_launcher.spec_of("copy", None, {"dtype": numpy_like, "reads": 1}), "copy[dtype=f32,reads=1]")
        self.assertEqual(_launcher.spec_of("softmax", "0f", {}), "softmax@0f[]")
        self.assertEqual(_launcher.spec_of("softmax", None, {}), "softmax")
        self.assertEqual(_launcher.spec_of("softmax[dtype=f16]", None, {}), "softmax[dtype=f16]")
        with self.assertRaisesRegex(tilewright.UsageError, "not both"):
            _launcher.spec_of("softmax[dtype=f16]", None, {"pitch": "strided"})

    def test_dtypes_have_many_names(self):
        torch_like = type("dtype", (), {"__repr__": lambda self: "torch.bfloat16"})()
        self.assertEqual([_tensors.dtype_name(name) for name in ("bf16", "bfloat16", torch_like)], ["bf16"] * 3)

    def test_scalars_of_bf16_are_rounded(self):
        for value, bits in ((1.0, 0x3F80), (1 + 2**-8, 0x3F80), (1 + 3 * 2**-8, 0x3F82), (-2, 0xC000),
                            (float("nan"), 0x7FC0)):
            self.assertEqual(_call.bf16_bits(value), bits)


class Launcher(LaunchTest):
    def test_the_version_is_the_librarys(self):
        self.assertRegex(tilewright.__version__, r"\A\d+\.\d+\.\d+\Z")
        with self.assertRaises(AttributeError):
            _ = tilewright.nothing

    def test_threads_that_ask_for_an_op_together_get_the_same(self):
        launcher = tilewright.Launcher(SAMPLE_CACHE)
        self.addCleanup(launcher.close)
        made, begun = [], threading.Event()

        def slow(*words):
            made.append(words)
            begun.set()
            time.sleep(0.1)  # lets the other thread get here, unless a lock stops it
            return tilewright.Op(*words)

        with unittest.mock.patch.object(_launcher, "Op", slow):
            ops = []
            first, second = (threading.Thread(target=lambda: ops.append(launcher.op("scale", dtype="f16")))
                             for _ in range(2))
            first.start()
            begun.wait()
            second.start()
            first.join()
            second.join()
        self.assertEqual(len(made), 1)
        self.assertIs(ops[0], ops[1])

    def test_a_missing_cache_is_a_cache_error(self):
        with self.assertRaisesRegex(tilewright.CacheError, "/nonexistent/cache.db") as caught:
            tilewright.Launcher("/nonexistent/cache.db")
        self.assertEqual(caught.exception.code, 2)

    def test_the_default_launcher_opens_the_cache_of_the_environment(self):
        os.environ["TILEWRIGHT_CACHE"] = SAMPLE_CACHE
        self.addCleanup(os.environ.pop, "TILEWRIGHT_CACHE")
        op = tilewright.op("scale", dtype="f16")
        self.assertIs(op, tilewright.op("scale", dtype="f16"))
        op(Array((8, 64)), Array((8, 64)), 1)
        self.only_launch()
        tilewright.refresh()
        tilewright.default_launcher().close()

    def test_options_are_the_librarys(self):
        options = _library.Options(size=0)
        self.assertEqual(_library.load().tw_open_with(ctypes.byref(options), ctypes.byref(ctypes.c_void_p())), 1)
        self.assertIn(f"here {ctypes.sizeof(_library.Options)}", _library.load().tw_last_error().decode())

    def test_a_fallback_serves_where_there_is_no_cache(self):
        with tilewright.Launcher("/nonexistent/cache.db", fallback=SAMPLE_CACHE) as launcher:
            match = launcher.op("scale", dtype="f16").match(8, 64)
        self.assertEqual(match.json["cache"], SAMPLE_CACHE)
        self.assertIn("/nonexistent/cache.db", match.json["cache_error"])

    def test_misses_are_recorded_where_they_are_told_to_be(self):
        misses = self.cache_copy().parent / "misses"
        launcher = tilewright.Launcher(SAMPLE_CACHE, misses=misses, watch_ms=1000)
        launcher.op("scale", dtype="f16")(Array((3, 64)), Array((3, 64)), 1)
        launcher.close()
        self.assertIn("{rows=3,cols=64}", misses.read_text())

    def test_what_the_user_has_not_tuned_is_served_by_the_shipped_winners(self):
        home = self.cache_copy().parent
        names = ("XDG_CACHE_HOME", "TILEWRIGHT_CACHE", "TILEWRIGHT_WINNERS")
        before = {name: os.environ.get(name) for name in names}
        self.addCleanup(lambda: [os.environ.pop(name, None) if value is None else os.environ.update({name: value})
                                 for name, value in before.items()])
        os.environ.pop("TILEWRIGHT_CACHE", None)
        os.environ["XDG_CACHE_HOME"] = str(home)
        os.environ["TILEWRIGHT_WINNERS"] = SAMPLE_CACHE
        with contextlib.closing(tilewright.default_launcher()):
            self.assertEqual(tilewright.op("scale", dtype="f16").match(8, 64).cache, SAMPLE_CACHE)
        own = home / "tilewright" / "cache.db"
        own.parent.mkdir()
        shutil.copy(SAMPLE_CACHE, own)
        with contextlib.closing(tilewright.default_launcher()):
            self.assertEqual(tilewright.op("scale", dtype="f16").match(8, 64).cache, str(own))
        os.environ["TILEWRIGHT_CACHE"] = "one.db"
        with self.assertRaises(tilewright.CacheError, msg="a cache that is named must do alone"):
            tilewright.default_launcher()

    def test_answers_are_counted(self):
        with tilewright.Launcher(SAMPLE_CACHE, misses="off") as launcher:
            scale = launcher.op("scale", dtype="f16")
            for _ in range(2):
                scale(Array((8, 64)), Array((8, 64)), 1)
            scale(Array((3, 64)), Array((3, 64)), 1)
            counts = launcher.counts()
        self.assertEqual(counts["exact"], 1)
        self.assertEqual(counts["nearest"] + counts["default"], 1)
        self.assertEqual(counts["none"], 0)

    def test_ranks_compare_the_snapshot_and_what_it_served(self):
        with tempfile.TemporaryDirectory() as folder:
            cache = pathlib.Path(shutil.copy(SAMPLE_CACHE, folder))
            with contextlib.closing(sqlite3.connect(cache)) as connection:
                connection.execute("PRAGMA journal_mode=DELETE")
            with tilewright.Launcher(cache, misses="off") as launcher:
                self.assertEqual(launcher.snapshot()["plans"], 0)
                launcher.op("scale", dtype="f16")(Array((8, 64)), Array((8, 64)), 1)
                served = launcher.snapshot()
            digest = hashlib.sha256(cache.read_bytes()).hexdigest()
            self.assertEqual(served["snapshot"], f"sha256:{digest}")
            self.assertEqual((served["pinned"], served["plans"], len(served["plans_digest"])), (False, 1, 32))
            with tilewright.Launcher(cache, misses="off", snapshot=served["snapshot"]) as pinned:
                self.assertTrue(pinned.snapshot()["pinned"])
            with self.assertRaisesRegex(tilewright.CacheError, "was not found"):
                tilewright.Launcher(cache, snapshot="sha256:" + 64 * "0")

    def test_an_unknown_op_gets_the_nearest_name(self):
        self.refused("scale", self.launcher.op, "scalle")
        self.refused("dtype", self.launcher.op, "scale", dtype="f8")

    def test_an_op_of_another_interface_is_refused(self):
        interface = self.scale.describe()["interface"]
        self.launcher.op("scale", interface=interface, dtype="f16")
        self.refused("scale", self.launcher.op, "scale", interface="0" * 32, dtype="f16",
                     kind=tilewright.InterfaceError)

    def test_a_match_says_what_is_served(self):
        match = self.scale.match(rows=8, cols=64)
        self.assertTrue(match)
        self.assertEqual((match.fit, match.config, match.median_ns),
                         ("exact", "wide{num_warps=2,vec=8,static_dims=1}", 1000))
        self.assertEqual(match, self.scale.match(8, 64))
        self.assertEqual(match.json["mode"], "cold")
        self.assertEqual((match.bytes, match.expected_ns, match.expected_by), (2 * 8 * 64 * 2, None, None))
        untuned = self.scale.match(rows=5, cols=7)
        self.assertEqual((untuned.fit, untuned.bytes), ("default", 2 * 5 * 7 * 2))
        self.assertAlmostEqual(untuned.expected_ns, untuned.median_ns * (5 * 7) / (8 * 64))
        self.assertIsNone(untuned.expected_loss)
        self.assertIn("{rows=8,cols=64}", untuned.expected_by)
        nothing = self.launcher.op("scale", dtype="f32").match(8, 64)
        self.assertFalse(nothing)
        self.assertIn("scale[dtype=f32", nothing.why)

    def test_a_match_needs_no_gpu_where_the_device_is_named(self):
        DRIVER.use(None)
        with tilewright.Launcher(SAMPLE_CACHE, device="Fictional GPU") as launcher:
            self.assertEqual(launcher.op("scale", dtype="f16").match(8, 64).fit, "exact")

    def test_dims_by_wrong_names_are_refused(self):
        self.refused("has the dims rows, cols; given are rows", self.scale.match, rows=8)
        self.refused("takes 2 dims", self.scale.match, 8)

    def test_what_is_preloaded_launches_without_loading(self):
        self.scale.preload(8, 64)
        DRIVER.functions.recording_fail(b"cuLibraryLoadData", 999, 0, 1)
        self.scale(Array((8, 64)), Array((8, 64)), 1)
        self.only_launch()

    def test_workspace_may_be_the_callers(self):
        reduce = self.launcher.op("reduce")
        size = reduce.workspace_bytes(64, 256)
        self.assertGreater(size, 0)
        self.launcher.set_workspace(None, None)
        self.refused("aligned to 256", self.launcher.set_workspace, 0, 8, size)

    def test_a_file_put_in_the_caches_place_is_picked_up(self):
        cache = self.cache_copy()
        launcher = tilewright.Launcher(cache)
        op = launcher.op("scale", dtype="f16")
        op(Array((8, 64)), Array((8, 64)), 1)
        launcher.refresh()
        op(Array((8, 64)), Array((8, 64)), 1)
        self.assertEqual(len(DRIVER.launches()), 2)
        cache.write_bytes(b"no database at all, whatever its name may say" * 100)
        with self.assertRaises(tilewright.CacheError):
            launcher.refresh()
        op(Array((8, 64)), Array((8, 64)), 1)
        launcher.close()

    def test_a_closed_launcher_says_so(self):
        self.scale(Array((8, 64)), Array((8, 64)), 1)
        DRIVER.functions.recording_reset()
        self.launcher.close()
        self.launcher.close()
        self.refused("its launcher is closed", self.scale, Array((8, 64)), Array((8, 64)), 1)
        self.refused("the launcher is closed", self.scale.match, 8, 64)
        self.refused("the launcher is closed", self.launcher.op, "strided")

    def test_a_library_that_is_missing_is_named(self):
        code = "import tilewright; tilewright.Launcher()"
        environment = {**os.environ, "TILEWRIGHT_LIBRARY": "/nonexistent/libtilewright.so"}
        answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True,
                                check=False)
        self.assertIn("/nonexistent/libtilewright.so cannot be loaded", answer.stderr)

    def test_shipped_winners_are_files(self):
        for winners in tilewright.shipped_winners():
            self.assertTrue(pathlib.Path(winners).is_file())


class Pitches(unittest.TestCase):
    def test_rows_lie_evenly_apart_or_not(self):
        for shape, strides, pitch in (((8, 64), None, 64), ((8, 64), (80, 1), 80), ((2, 4, 64), (320, 80, 1), 80),
                                      ((2, 4, 64), (640, 80, 1), None), ((8, 64), (1, 8), None),
                                      ((2, 1, 64), (99, 5, 1), 99),
                                      ((1, 100), None, 128), ((1, 64), (3, 2), None), ((8, 1), (5, 9), 5),
                                      ((64,), (1,), 128)):
            with self.subTest(shape=shape, strides=strides):
                self.assertEqual(_tensors.row_pitch(shape, strides), pitch)


if __name__ == "__main__":
    unittest.main()
