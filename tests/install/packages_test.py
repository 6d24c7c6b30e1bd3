# SPDX-License-Identifier: Apache-2.0
"""What a system gets: the Debian packages, pkg-config, an install that says what is not built, and launchers that find
the winners that were installed."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["TILEWRIGHT_TEST_BUILD"])
PREFIX = pathlib.Path(os.environ["TILEWRIGHT_TEST_PREFIX"])
COMPILER = os.environ["TILEWRIGHT_TEST_COMPILER"]
CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer_winners.c"
CLEAN = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}


def call(*command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True, **more).stdout


class Packages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check_launches(self, prefix):
        """A program in C that pkg-config tells how to build finds the installed winners without a cache of its own."""
        environment = CLEAN | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
        flags = call("pkg-config", "--cflags", "--libs", "tilewright", env=environment).split()
        program = self.folder / "consumer"
        call(COMPILER, "-std=c99", CONSUMER, *flags, "-o", program)
        served = call(program, env=CLEAN | {"LD_LIBRARY_PATH": str(prefix / "lib")})
        self.assertIn(str(prefix / "share" / "tilewright" / "kernels" / "winners" / "nvidia-h200.db"), served)
        self.assertIn('"fit":"exact"', served)

    def need(self, *programs):
        """Skips where one is not there, which no summary shows; CI has them all."""
        for program in programs:
            if not shutil.which(program):
                (self.fail if os.environ.get("CI") else self.skipTest)(
                    f"there is no {program}: scripts/setup --tests brings it")

    def test_an_install_is_found_by_pkg_config_and_its_winners_serve(self):
        self.need("pkg-config")
        self.check_launches(PREFIX)

    def test_the_debian_packages_have_a_program_that_runs_and_winners_that_serve(self):
        self.need("dpkg-deb", "dpkg-shlibdeps", "pkg-config")
        call("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", self.folder / "dist", cwd=self.folder)
        packages = {path.name.split("_")[0]: path for path in (self.folder / "dist").glob("*.deb")}
        self.assertEqual(set(packages), {"tilewright", "tilewright-winners"})
        for package in packages.values():
            call("dpkg-deb", "--extract", package, self.folder / "root")
        version = call("dpkg-deb", "--field", packages["tilewright"], "Version").strip()
        fields = call("dpkg-deb", "--field", packages["tilewright"], "Depends", "Recommends", "Breaks")
        self.assertRegex(fields, r"(?m)^Depends: .*libc6 \(>= 2\.\d+\)")
        self.assertIn(f"Recommends: tilewright-winners (= {version})\n", fields)
        self.assertIn(f"Breaks: tilewright-winners (<< {version})\n", fields)
        fields = call("dpkg-deb", "--field", packages["tilewright-winners"], "Version", "Breaks")
        self.assertEqual(fields, f"Version: {version}\nBreaks: tilewright (<< {version})\n")
        prefix = self.folder / "root" / "usr"
        self.assertIn("softmax", call(prefix / "bin" / "tilewright", "list", env=CLEAN))
        self.check_launches(prefix)

    def test_an_install_of_what_is_not_built_says_what_to_type(self):
        tree = self.folder / "tree"
        tree.mkdir()
        script = (BUILD / "cmake_install.cmake").read_text().replace(str(BUILD), str(tree))
        (tree / "cmake_install.cmake").write_text(script)
        answer = subprocess.run(["cmake", "--install", tree, "--prefix", self.folder / "prefix"], capture_output=True,
                                text=True)
        self.assertNotEqual(answer.returncode, 0)
        said = " ".join(answer.stderr.split())
        self.assertIn("is not built, and nothing was installed", said)
        self.assertIn(f"cmake --build {tree}", said)
        self.assertFalse((self.folder / "prefix").exists())


if __name__ == "__main__":
    unittest.main()
