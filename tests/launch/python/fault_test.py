# SPDX-License-Identifier: Apache-2.0
"""What may go wrong under a program: which error it is, what it says, and that the next call is served."""
import contextlib
import os
import sqlite3
import unittest
import warnings

import tilewright
from recording import DRIVER, SAMPLE_CACHE, Array, LaunchTest

OUT_OF_MEMORY, INVALID_IMAGE, ALWAYS = 2, 200, 1 << 30


def made_newer(cache):
    with contextlib.closing(sqlite3.connect(cache)) as database:
        database.execute("PRAGMA user_version = 9999")


class Caches(LaunchTest):
    def test_one_that_cannot_be_used_is_a_cache_error_that_says_why(self):
        for spoil, text in ((made_newer, "has schema 9999"),
                            (lambda cache: cache.chmod(0o666), "can be changed by other users"),
                            (lambda cache: os.truncate(cache, 100), "is damaged"),
                            (lambda cache: cache.write_bytes(b"no database, whatever its name may say" * 100),
                             "is not a cache")):
            cache = self.cache_copy()
            spoil(cache)
            with self.subTest(text):
                self.refused(text, tilewright.Launcher, cache, kind=tilewright.CacheError)
                self.refused(str(cache), tilewright.Launcher, cache, kind=tilewright.CacheError)

    def test_one_that_others_can_write_serves_where_that_is_allowed(self):
        cache = self.cache_copy()
        cache.chmod(0o666)
        with tilewright.Launcher(cache, allow_shared_cache=True) as launcher:
            launcher.op("scale", dtype="f16")(Array((8, 64)), Array((8, 64)), 1)
        self.only_launch()


class Drivers(LaunchTest):
    def test_a_binary_that_is_rejected_gives_way_to_the_next(self):
        DRIVER.functions.recording_fail(b"cuLibraryLoadData", INVALID_IMAGE, 0, 1)
        self.scale(Array((8, 64)), Array((8, 64)), 1)
        self.assertEqual(self.only_launch().block[0], 4 * 32, "the one of any width, where the best has 2 warps")

    def test_binaries_that_are_all_rejected_are_an_error_with_the_drivers_words(self):
        DRIVER.functions.recording_fail(b"cuLibraryLoadData", INVALID_IMAGE, 0, ALWAYS)
        self.refused("CUDA_ERROR_INVALID_IMAGE", self.scale, Array((8, 64)), Array((8, 64)), 1, kind=tilewright.Error)

    def test_memory_that_is_short_is_a_device_error_and_the_next_call_is_served(self):
        reduce, tensors = self.launcher.op("reduce"), (Array((64, 256)), Array((64,), "<f4"))
        for api in (b"cuLibraryLoadData", b"cuMemAlloc_v2"):
            DRIVER.functions.recording_fail(api, OUT_OF_MEMORY, 0, 1)
            with self.subTest(api):
                self.refused("CUDA_ERROR_OUT_OF_MEMORY", reduce, *tensors, kind=tilewright.DeviceError)
        reduce(*tensors)
        self.assertEqual(len(DRIVER.launches()), 2)

    def test_a_thread_without_a_context_is_told_so(self):
        DRIVER.use(None)
        self.refused("no CUDA context is current", self.scale, Array((8, 64)), Array((8, 64)), 1,
                     kind=tilewright.DeviceError)


class Forks(LaunchTest):
    def in_child(self, work):
        """`work` is true in a child by fork."""
        with warnings.catch_warnings():
            # The warning is about other threads of this process, which the child does not need.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            try:
                os._exit(0 if work() else 1)
            finally:
                os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_a_child_is_told_to_open_its_own(self):
        tensors = Array((8, 64)), Array((8, 64)), 1
        self.scale(*tensors)

        def is_refused(call, *args):
            try:
                call(*args)
            except tilewright.DeviceError as error:
                return "forked" in str(error)
            return False

        self.in_child(lambda: all([is_refused(self.scale, *tensors),
                                   is_refused(self.scale, Array((9, 64)), Array((9, 64)), 1),
                                   is_refused(self.scale.match, 8, 64), is_refused(self.scale.preload, 8, 64),
                                   is_refused(self.scale.workspace_bytes, 8, 64), is_refused(self.launcher.refresh),
                                   is_refused(self.launcher.op, "reduce"), self.launcher.close() is None]))
        self.scale(*tensors)
        self.assertEqual(len(DRIVER.launches()), 2, "the parent goes on")

    def test_a_child_may_open_its_own(self):
        def is_served():
            with tilewright.Launcher(SAMPLE_CACHE) as own:
                own.op("scale", dtype="f16")(Array((8, 64)), Array((8, 64)), 1)
            return len(DRIVER.launches()) == 1

        self.in_child(is_served)


if __name__ == "__main__":
    unittest.main()
