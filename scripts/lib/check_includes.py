#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the includes of cache/ and tuner/ with the list of docs/architecture.md that says which folder may include
which. A row, an item of the list, covers the sub-folders that have no row of their own.

check_includes.py          fails where list and includes differ, and on cycles of folders
check_includes.py --print  prints the list as the includes have it: the rows of the present list with their ideas, and
                           a row of two levels (`cache/NAME`) for each folder that no row covers
"""
import pathlib
import posixpath
import re
import subprocess
import sys
import textwrap
from collections import deque
from dataclasses import dataclass, field

LIST = "docs/architecture.md"
HEADING = "## Who may include whom"
ROW = re.compile(r"- `([\w./-]+?)/?`: (?:(.+)\. )?Includes (nothing|`[\w./-]+`(?:, `[\w./-]+`)*)\.")
SOURCES = re.compile(r"^(cache|tuner)/.*\.(hpp|cpp|h|c|cpp\.in)$")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
# The public headers, which are included as applications do.
PUBLIC = ("tilewright/", "cache/launch/include/tilewright/")


@dataclass
class Row:
    folder: str
    line: int
    idea: str = ""
    may: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Include:
    file: str
    line: int
    target: str

    def __str__(self):
        return f'{self.file}:{self.line}: #include "{self.target}"'


def source_files(root):
    """The sources of cache/ and tuner/ that git tracks or would."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted({name for name in names if SOURCES.match(name) and (root / name).is_file()})


def folder_of(name):
    return name.rpartition("/")[0]


def read_includes(root, files):
    """What each file includes of ours, by the path from the root."""
    for name in files:
        for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            target = found[1]
            if target.startswith(PUBLIC[0]):
                target = PUBLIC[1] + target[len(PUBLIC[0]):]
            if target.startswith(("cache/", "tuner/", "kernels/")):
                yield Include(name, number, target)
            elif (root / folder_of(name) / target).is_file():
                yield Include(name, number, posixpath.normpath(f"{folder_of(name)}/{target}"))


def items_of(text):
    """The list items under the heading, each with its first line, as one line."""
    inside, item, begun = False, "", 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if item and re.match(r" +\S", line):
            item += " " + line.strip()
            continue
        if item:
            yield begun, item
        if line.startswith("## "):
            inside = line.strip() == HEADING
        item, begun = (line.strip(), number) if inside and line.startswith("- ") else ("", 0)


def read_list(root):
    """The rows by folder, in order, and what is wrong with the list itself."""
    rows, mistakes = {}, []
    path = root / LIST
    for number, item in items_of(path.read_text(encoding="utf-8") if path.is_file() else ""):
        found, place = ROW.fullmatch(item), f"{LIST}:{number}"
        if not found:
            mistakes.append(f"{place}: a row is - `folder`: idea. Includes `folder`, `folder` or the word nothing.")
        elif found[1] in rows:
            mistakes.append(f"{place}: `{found[1]}` has a row already, in line {rows[found[1]].line}")
        else:
            rows[found[1]] = Row(found[1], number, found[2] or "", re.findall(r"`([\w./-]+?)/?`", found[3]))
    return rows, mistakes


def owner_of(folder, rows):
    """The row that covers the folder: its own, or that of the nearest folder around it."""
    while folder and folder not in rows:
        folder = folder_of(folder)
    return folder


def target_owner(include, rows):
    """The row that covers what is included. Folders of kernels/ stand for themselves, by two levels."""
    folder = folder_of(include.target)
    if folder.startswith("kernels/"):
        return owner_of(folder, rows) or "/".join(folder.split("/")[:2])
    return owner_of(folder, rows)


def arrows_of(includes, rows):
    """(from, to) -> the includes that make the arrow, for folders that rows cover."""
    arrows = {}
    for include in includes:
        here, there = owner_of(folder_of(include.file), rows), target_owner(include, rows)
        if here and there and here != there:
            arrows.setdefault((here, there), []).append(include)
    return arrows


def way(begin, end, arrows):
    """The shortest way of folders from one to the other."""
    before, queue = {begin: None}, deque([begin])
    while queue:
        here = queue.popleft()
        if here == end:
            path = [here]
            while before[path[-1]] is not None:
                path.append(before[path[-1]])
            return path[::-1]
        for there in sorted(to for origin, to in arrows if origin == here and to not in before):
            before[there] = here
            queue.append(there)
    return None


def cycles_of(arrows):
    """A shortest cycle through each arrow that lies on one, each cycle once."""
    seen = set()
    for here, there in sorted(arrows):
        back = way(there, here, arrows)
        if back is None:
            continue
        # Turned so that the same cycle is the same text, wherever it was entered.
        first = back.index(min(back))
        cycle = tuple(back[first:] + back[:first])
        if cycle not in seen:
            seen.add(cycle)
            yield cycle


def mistakes_of(root):
    rows, mistakes = read_list(root)
    yield from mistakes
    if not rows:
        yield f"{LIST}: there is no list of folders under '{HEADING}'; scripts/lib/check_includes.py --print prints one"
        return
    files = source_files(root)
    includes = list(read_includes(root, files))
    arrows = arrows_of(includes, rows)
    for folder in sorted({folder_of(name) for name in files}):
        if not owner_of(folder, rows):
            yield f"{folder}: it has sources, and {LIST} has no row for it"
    for row in rows.values():
        if not (root / row.folder).is_dir():
            yield f"{LIST}:{row.line}: `{row.folder}` is no folder; take its row out"
    for (here, there), made_by in sorted(arrows.items()):
        if there not in rows[here].may:
            for include in made_by:
                yield (f"{include}: `{here}` may not include `{there}`; turn the arrow, or allow it in "
                       f"{LIST}:{rows[here].line}")
    for row in rows.values():
        for there in row.may:
            if there == row.folder:
                yield f"{LIST}:{row.line}: `{row.folder}` may include itself without saying so"
            elif (row.folder, there) not in arrows:
                yield f"{LIST}:{row.line}: nothing in `{row.folder}` includes `{there}`; take it out of the row"
    for cycle in cycles_of(arrows):
        yield f"a cycle of folders: {' -> '.join([*cycle, cycle[0]])}"
        for here, there in zip(cycle, [*cycle[1:], cycle[0]]):
            yield f"    {arrows[here, there][0]}"


def printed_list(root):
    """The list as the includes have it."""
    rows, _ = read_list(root)
    files = source_files(root)
    rows = {folder: row for folder, row in rows.items() if (root / folder).is_dir()}
    for name in files:
        if not owner_of(folder_of(name), rows):
            folder = "/".join(folder_of(name).split("/")[:2])
            rows[folder] = Row(folder, 0)
    arrows = arrows_of(read_includes(root, files), rows)
    for row in rows.values():
        may = ", ".join(f"`{there}`" for here, there in sorted(arrows) if here == row.folder)
        item = f"- `{row.folder}`: {row.idea and row.idea + '. '}Includes {may or 'nothing'}."
        yield from textwrap.wrap(item, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def main(words, root):
    if words == ["--print"]:
        print("\n".join(printed_list(root)))
        return 0
    if words:
        print(f"'{words[0]}' is not an option of check_includes.py; there is only --print", file=sys.stderr)
        return 2
    mistakes = list(mistakes_of(root))
    for mistake in mistakes:
        print(mistake)
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], pathlib.Path(__file__).resolve().parents[2]))
