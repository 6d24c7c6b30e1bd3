# SPDX-License-Identifier: Apache-2.0
"""The C functions through ctypes, against a cache that the program makes on the emulator."""
import ctypes
import os
import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

from peers import library


class Library(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.cache = pathlib.Path(cls.folder.name) / "cache.db"
        subprocess.run([os.environ["TILEWRIGHT_TEST_PROGRAM"], "sweep", "copy", "n=1000,2000", "reads=2", "--device",
                        "cpu",
                        "--max-configs", "1", "--budget-ms", "1", "--no-ceilings", "--quiet", "--cache",
                        str(cls.cache)],
                       check=True, capture_output=True)
        cls.launcher = library.Launcher(os.environ["TILEWRIGHT_TEST_LIBRARY"], cls.cache, "cpu")

    @classmethod
    def tearDownClass(cls):
        cls.launcher.close()
        cls.folder.cleanup()

    def test_describes_an_op_and_what_is_served(self):
        op = self.launcher.op("copy[dtype=f32,reads=2]")
        self.assertEqual([argument["name"] for argument in op.describe()["args"]], ["a", "b", "y"])
        self.assertEqual(op.query((1000,))["fit"], "exact")
        self.assertEqual(op.query((1001,))["fit"], "nearest")
        self.assertRegex(self.launcher.version, r"\A\d+\.\d+\.\d+")

    def test_raises_what_the_library_says(self):
        with self.assertRaisesRegex(library.LibraryError, "copy"):
            self.launcher.op("copi")
        with self.assertRaisesRegex(library.LibraryError, "does not exist"):
            library.Launcher(os.environ["TILEWRIGHT_TEST_LIBRARY"], "/nonexistent/cache.db")

    def test_lays_out_the_values_of_a_call_before_it_is_made(self):
        op = self.launcher.op("copy[dtype=f32,reads=2]")
        call = op.call((1000,), [1 << 40, 2 << 40, library.scalar("f32", 0.5)])
        self.assertEqual([value.value for value in call.kept], [1 << 40, 2 << 40, 0.5])
        self.assertIsInstance(call.kept[2], ctypes.c_float)
        with self.assertRaises(library.LibraryError):  # without a GPU, or since these are not addresses of 3 tensors
            call(0)

    def test_finds_tuned_copies_and_the_nearest(self):
        self.assertEqual(library.tuned_copies(self.cache, "f32", 2), [1000, 2000])
        self.assertEqual(library.tuned_copies(self.cache, "f32", 1), [])
        self.assertEqual(library.nearest_copy([1000, 2000], 1990), 2000)
        self.assertEqual(library.nearest_copy([1000, 2000], 1000), 1000)
        self.assertIsNone(library.nearest_copy([1000, 2000], 1500))
        self.assertIsNone(library.nearest_copy([], 1500))

    def test_finds_the_least_time_of_an_empty_launch_beside_copies(self):
        self.assertGreater(library.launch_floor(self.cache), 0)


class Found(unittest.TestCase):
    def test_is_none_with_a_sanitizer(self):
        with tempfile.TemporaryDirectory() as name, mock.patch.object(library, "ROOT", pathlib.Path(name)):
            for preset, found in (("asan", None), ("launch-only", "launch-only"), ("dev", "dev"), ("ci", "ci")):
                file = pathlib.Path(name, "build", preset, "lib", "libtilewright.so")
                file.parent.mkdir(parents=True)
                file.touch()
                if found:
                    self.assertEqual(library.find_library(), file)
                else:
                    with self.assertRaisesRegex(library.LibraryError, "--library"):
                        library.find_library()


if __name__ == "__main__":
    unittest.main()
