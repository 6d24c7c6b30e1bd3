# SPDX-License-Identifier: Apache-2.0
"""scripts/lib/common.sh: when `configure` calls CMake."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

COMMON = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib" / "common.sh"
# Notes its words, and writes what CMake leaves.
CMAKE = """#!/usr/bin/env bash
echo "$*" >>called
mkdir -p build/ci && touch build/ci/build.ninja
for word in "$@"; do case $word in -D*=*) word=${word#-D}; echo "${word%%=*}:BOOL=${word#*=}" ;; esac; done \\
  >build/ci/CMakeCache.txt
"""


class Configuring(unittest.TestCase):
    def test_is_done_once_and_again_where_a_value_is_another(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "scripts" / "lib").mkdir(parents=True)
            shutil.copy(COMMON, folder / "scripts" / "lib")
            (folder / "cmake").write_text(CMAKE, encoding="utf-8")
            (folder / "cmake").chmod(0o755)
            for words in ("ci -DOUT=ON", "ci -DOUT=ON", "ci", "ci -DOUT=OFF", "ci -DOUT=OFF"):
                subprocess.run(["bash", "-euc", f"source scripts/lib/common.sh; configure {words}"], cwd=folder,
                               check=True, capture_output=True,
                               env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
            called = (folder / "called").read_text(encoding="utf-8").splitlines()
        self.assertEqual(called, ["--preset ci -DOUT=ON", "--preset ci -DOUT=OFF"])


if __name__ == "__main__":
    unittest.main()
