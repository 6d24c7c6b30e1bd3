# SPDX-License-Identifier: Apache-2.0
"""What tests in Python share: the program, and real records of an H200."""
import importlib.util
import lzma
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECORDED = ROOT / "tests/page/assets/h200_gemm.db.xz"
RECORDED_SWEEP = ROOT / "tests/page/assets/h200_sweep.db.xz"
WINNERS = ROOT / "tests/page/assets/h200_winners.db.zst"


def missing_module(modules):
    """What to say of the first of these Python modules that is not there; empty when all are."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            return f"the Python module {module} is missing; scripts/setup --tests brings it"
    return ""


def program(*arguments):
    """Runs tilewright; its stdout."""
    command = [os.environ["TILEWRIGHT_TEST_PROGRAM"], *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def write_real_cache(path):
    """Trials of gemm sweeps of one H200, failures among them, and winners of the other ops with their ceilings."""
    path.write_bytes(lzma.decompress(RECORDED.read_bytes()))
    program("import", WINNERS, "--cache", path)


def write_real_sweep(path):
    """One cold sweep of softmax on an H200 (20 shapes, commit d830139), with what each compiler and the device did
    when."""
    path.write_bytes(lzma.decompress(RECORDED_SWEEP.read_bytes()))
