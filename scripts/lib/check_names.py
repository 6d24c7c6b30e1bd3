#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_names.py [FOLDER...]: fails where two files define a class, struct, enum, alias or constant of one name in one
namespace. Files that do not include each other compile all the same, and the program then has one of the two where it
means the other: the linker keeps the members of one. Looks at C++ sources, at what begins a line as clang-format leaves
it."""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPENS = re.compile(r"^(?:inline )?namespace ([\w:]*) ?\{")
CLOSES = re.compile(r"^\}  // namespace")
DEFINES = re.compile(
    r"^(?:class|struct|enum(?: class)?) (?:(?:alignas\([^)]*\)|\[\[.*?\]\]) )*(\w+)(?!::)\b(?: final)?(?: :[^;()]*)? \{"
    r"|^using (\w+) = "
    r"|^(?:inline )?constexpr [^(){}=]*\b(k[A-Z]\w*)(?: =|\{)")


def definitions(text):
    """Full names of what a file defines for all to see, with their lines."""
    spaces = []
    for number, line in enumerate(text.splitlines(), 1):
        if opened := OPENS.match(line):
            spaces.append(opened[1])
        elif CLOSES.match(line):
            spaces.pop()
        elif (found := DEFINES.match(line)) and "" not in spaces and spaces:
            yield "::".join([*spaces, found[found.lastindex]]), number


def clashes(files):
    """`files`: texts by name."""
    places = collections.defaultdict(list)
    for file, text in files.items():
        for name, number in definitions(text):
            places[name].append((file, number))
    return {name: found for name, found in places.items() if len({file for file, _ in found}) > 1}


def main():
    folders = sys.argv[1:] or ["cache", "tuner"]
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.?pp"))]
    found = clashes({str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths})
    for name, places in sorted(found.items()):
        where = " and ".join(f"{file}:{number}" for file, number in places)
        print(f"{name} is defined in {where}: a program that has both has one of them twice; rename one")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
