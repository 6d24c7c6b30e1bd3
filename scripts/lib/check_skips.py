#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_skips.py ALLOWED LOG: fails when CTest's log LOG names a skipped test that no line of ALLOWED matches: what it
prints, or LastTest.log, which has what the tests print. A line of ALLOWED is a regular expression of test names,
blanks, and the reason; # begins a comment."""
import pathlib
import re
import sys

# "	1234 - unit_compile.Nvrtc.finds_it (Skipped)", below "The following tests did not run:". A test with a parameter has
# it in its name: "unit_kernels.Ops/Spaces.hold/gemm  # GetParam() = "gemm" (Skipped)".
SKIPPED = re.compile(
    r"^\s*\d+ - (\S.*?)(?:\s+# GetParam\(\) = .*)? \((Skipped|Not Run|Disabled)\)[^\n()]*$", re.MULTILINE)

# "3/10 Testing: store_tests.whole.0", and then "[  SKIPPED ] DiskFull.on_a_small_file_system (0 ms)", with a parameter
# "[  SKIPPED ] Ops/Spaces.hold/gemm, where GetParam() = "gemm" (0 ms)".
WITHIN = re.compile(
    r"^\d+/\d+ Testing: (?P<program>\w+)|^\[  SKIPPED \] (?P<test>[^\s,]+)(?:, where .*)? \(\d+ ms\)", re.MULTILINE)


def skipped_within(log):
    """Those that a whole program skipped."""
    program = ""
    for found in WITHIN.finditer(log):
        program = found["program"] or program
        if found["test"]:
            yield f"{program}.{found['test']}"


def allowed_patterns(text):
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [re.compile(line.split()[0]) for line in lines if line]


def unexpected(log, patterns):
    names = dict.fromkeys([*(name for name, _ in SKIPPED.findall(log)), *skipped_within(log)])
    return [name for name in names if not any(pattern.fullmatch(name) for pattern in patterns)]


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    allowed, log = (pathlib.Path(each) for each in sys.argv[1:])
    found = unexpected(log.read_text(errors="replace"), allowed_patterns(allowed.read_text()))
    for name in found:
        print(f"{name} was skipped, and {allowed} does not allow that: make it run, or add a line with the reason")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
