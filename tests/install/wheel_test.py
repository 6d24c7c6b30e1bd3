# SPDX-License-Identifier: Apache-2.0
"""The wheel: packed, unpacked as pip does it, and used by a Python that knows nothing of this tree."""
import base64
import csv
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAKE = ROOT / "scripts" / "lib" / "make_wheel.py"
LIBRARY = os.environ["TILEWRIGHT_TEST_LIBRARY"]
WINNERS = os.environ["TILEWRIGHT_TEST_WINNERS"]


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = cls.make("one")

    @classmethod
    def make(cls, name, winners=(WINNERS,)):
        answer = subprocess.run([sys.executable, "-B", str(MAKE), LIBRARY, f"{cls.folder.name}/{name}", *winners],
                                capture_output=True, text=True, check=True)
        return pathlib.Path(answer.stdout.strip())

    def run_python(self, site, code, *arguments):
        """Prints of a Python that sees no other packages and no variables of ours."""
        return subprocess.run([sys.executable, "-B", "-I", "-c",
                               f"import sys; sys.path.insert(0, {str(site)!r}); {code}", *arguments],
                              env={"HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
                              check=True).stdout

    def test_its_name_says_for_whom_it_is(self):
        self.assertRegex(self.path.name, r"\Atilewright-\d+\.\d+\.\d+-py3-none-manylinux_2_\d+_(x86_64|aarch64)\.whl\Z")
        tag = self.path.stem.split("-", 2)[2]
        with zipfile.ZipFile(self.path) as wheel:
            info = next(name for name in wheel.namelist() if name.endswith(".dist-info/WHEEL"))
            self.assertIn(f"Tag: {tag}\n", wheel.read(info).decode())

    def test_every_file_is_recorded_with_its_hash(self):
        with zipfile.ZipFile(self.path) as wheel:
            record = next(name for name in wheel.namelist() if name.endswith("/RECORD"))
            rows = {row[0]: row for row in csv.reader(wheel.read(record).decode().splitlines())}
            self.assertEqual(set(rows), set(wheel.namelist()))
            for name, row in rows.items():
                if name == record:
                    continue
                digest = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=").decode()
                self.assertEqual(row[1:], [f"sha256={digest}", str(len(wheel.read(name)))])
                # A cache that others may write is refused.
                self.assertEqual(wheel.getinfo(name).external_attr >> 16 & 0o022, 0)

    def test_the_same_files_give_the_same_bytes(self):
        self.assertEqual(self.make("two").read_bytes(), self.path.read_bytes())

    def test_without_winners_it_is_small(self):
        path = self.make("small", winners=())
        self.assertLess(path.stat().st_size, 20 << 20)
        with zipfile.ZipFile(path) as wheel, zipfile.ZipFile(self.path) as whole:
            self.assertEqual({name for name in whole.namelist() if "/winners/" not in name}, set(wheel.namelist()))

    def test_unpacked_it_serves_a_cache_and_opens_the_shipped_winners(self):
        site = pathlib.Path(self.folder.name) / "site"
        try:
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
                            "--no-compile", "--target",
                            str(site), str(self.path)], capture_output=True, check=True)
        except subprocess.CalledProcessError:  # there is no pip, or none for this target
            with zipfile.ZipFile(self.path) as wheel:
                wheel.extractall(site)
        code = ("import sys, tilewright; launcher = tilewright.Launcher(sys.argv[1], device='Fictional GPU'); "
                "match = launcher.op('scale', dtype='f16').match(8, 64); "
                "print(tilewright.__version__, tilewright.__file__, match.match, sep='|'); "
                "print(sum(1 for cache in tilewright.shipped_winners() if tilewright.Launcher(cache))); "
                "print(tilewright.Launcher(device='NVIDIA H200').op('softmax', dtype='bf16').match(8, 4096).cache)")
        served, winners, default = self.run_python(site, code, os.environ["TILEWRIGHT_TEST_CACHE"]).strip().split("\n")
        version, file, match = served.split("|")
        names = self.run_python(site, "from tilewright import _definitions; "
                                      "print(*(op['name'] for op in _definitions.load()))").split()
        kernels = (ROOT / "kernels").glob("*/*.toml")
        self.assertEqual(names, sorted(path.stem for path in kernels if path.stem == path.parent.name))
        self.assertIn(version, self.path.name)
        self.assertTrue(file.startswith(str(site)), file)
        self.assertTrue(match.startswith("exact"), match)
        with zipfile.ZipFile(self.path) as wheel:
            self.assertEqual(int(winners), sum(name.startswith("tilewright/winners/") for name in wheel.namelist()))
        self.assertGreaterEqual(int(winners), 1)
        self.assertTrue(default.startswith(str(site)), f"where no cache is named the wheel's winners serve: {default}")


if __name__ == "__main__":
    unittest.main()
