#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds contracts that are too long: comments of headers with more than MOST lines right before a function, a type or
a value. What opens a header may be longer: it stands before a namespace or a blank line."""
import pathlib
import sys

from check_texts import tracked_files

MOST = 8
SUFFIXES = {".hpp", ".h"}
FOLDERS = {"cache", "tuner"}


def comments(text):
    """The comments that have lines of their own: first line, number of lines, and the line of code that follows at
    once; empty where there is none."""
    lines = [line.strip() for line in text.splitlines()]
    at = 0
    while at < len(lines):
        begun = at
        if lines[at].startswith("//"):
            while at < len(lines) and lines[at].startswith("//"):
                at += 1
        elif lines[at].startswith("/*"):
            while at < len(lines) and "*/" not in lines[at]:
                at += 1
            at += 1
        else:
            at += 1
            continue
        yield begun + 1, at - begun, lines[at] if at < len(lines) else ""


def mistakes(text):
    for line, count, declared in comments(text):
        # Namespaces and macros open a header.
        if count > MOST and declared and not declared.startswith(("namespace", "#", "extern")):
            yield line, f"{count} lines before `{declared[:60]}`, {MOST} at most: simplify it, or let a page say it"


def main():
    count = 0
    for path in tracked_files():
        if path.suffix not in SUFFIXES or path.parts[0] not in FOLDERS:
            continue
        for line, mistake in mistakes(pathlib.Path(path).read_text(encoding="utf-8")):
            print(f"{path}:{line}: {mistake}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
