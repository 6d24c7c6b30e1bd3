#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what no compiler sees: licence lines, the length of files, left-over marks, paths of one machine, dead
links."""
import pathlib
import re
import subprocess
import sys

MAX_LINES = 400
CODE = {".cpp", ".hpp", ".h", ".c", ".cu", ".cuh", ".py", ".cmake", ".sql"}
# Spelled so that this file does not find itself.
MARKS = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
MACHINE_PATHS = re.compile(r"(?<![\w.$}/-])/(root|work|mnt|home/(?!me\b|user\b))[/\w.]")
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")


def tracked_files():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted({pathlib.Path(name) for name in names if name and pathlib.Path(name).is_file()})


def mistakes_of(path):
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    lines = text.splitlines()
    is_code = path.suffix in CODE or path.name == "CMakeLists.txt" or text.startswith("#!")
    if is_code and not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:2]):
        yield 1, "the line 'SPDX-License-Identifier: Apache-2.0' is not among the first two"
    if is_code and len(lines) > MAX_LINES:
        yield MAX_LINES, f"{len(lines)} lines, of {MAX_LINES} allowed: which two ideas are in here?"
    if text and not text.endswith("\n"):
        yield len(lines), "the last line has no end"
    for number, line in enumerate(lines, 1):
        if MARKS.search(line):
            yield number, "a left-over mark"
        if MACHINE_PATHS.search(line):
            yield number, "a path of one machine"
        if line != line.rstrip() and path.suffix != ".map":
            yield number, "blanks at the end of the line"
        if path.suffix == ".md":
            for target, _ in LINK.findall(line):
                if "://" not in target and not (path.parent / target).exists():
                    yield number, f"the link to {target} leads nowhere"


def main():
    count = 0
    for path in tracked_files():
        if path.name == "LICENSE":
            continue
        for number, message in mistakes_of(path):
            print(f"{path}:{number}: {message}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
