#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what no compiler sees: licence lines, widths of documents and comments, left-over marks, paths of one machine,
dead links, decoders without bounds, how many words the pages have."""
import pathlib
import re
import subprocess
import sys

WIDTH = 120
CODE = {".cpp", ".hpp", ".h", ".c", ".cu", ".cuh", ".py", ".cmake", ".sql"}
# Spelled so that this file does not find itself.
MARKS = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
MACHINE_PATHS = re.compile(r"(?<![\w.$}/-])/(root|work|mnt|home/(?!me\b|user\b))[/\w.]")
# Where a line's comment begins, by the language. Long lines of Python are found by ruff, of C++ code by clang-format.
COMMENTS = {".cpp": "//", ".hpp": "//", ".h": "//", ".c": "//", ".cu": "//", ".cuh": "//", ".cmake": "#",
            "CMakeLists.txt": "#", ".sh": "#", ".py": "#"}
# Decoders of outside data, and the only files that may call them: those that bound it first.
DECODERS = re.compile(r"\b(json::(parse|sax_parse)|from_(cbor|msgpack|ubjson|bjdata|bson)|toml::parse\w*)\(")
BOUNDED = {"cache/base/decode.cpp", "tuner/definition/reading/toml_tree.cpp"}
FENCE = re.compile(r"[\s>]*(```|~~~)")
# A link or an address on a line of its own, behind the marks of lists and quotes.
ALONE = re.compile(r"[\s>]*([-*+] |\d+\. )?(!?\[[^\]]*\]\(\S*\)\S*|\S+)$")
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)
# How many words all pages may have. Decisions and what a program writes do not count.
MOST_WORDS = 35_000
README_LINES = 120
PAGE = re.compile(r"(docs/(?!decisions/|benchmarks/|cli\.md$).*\.md|README\.md|CONTRIBUTING\.md)$")
WRITTEN = ("docs/benchmarks/", "docs/cli.md")
GENERATED = re.compile(r"^<!-- scripts/benchmark report.*?^<!-- until here[^\n]*\n", re.M | re.S)


def anchors(text):
    """What a link may name of a document: its headings, as pages of GitHub spell them."""
    unfenced = re.sub(r"^[\s>]*(```|~~~).*?^[\s>]*\1", "", text, flags=re.M | re.S)
    titles = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in HEADING.findall(unfenced))
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def dead_link(path, text, target, anchor):
    """In words, what is wrong with a link of the document; empty where nothing is."""
    if "://" in target or target.startswith("mailto:"):
        return ""
    file = path.parent / target if target else path
    if not file.exists():
        return f"the link to {target} leads nowhere"
    if anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8") if target else text):
        return f"the link to {target}#{anchor}: there is no such heading"
    return ""


def tracked_files():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    files = sorted({pathlib.Path(name) for name in names if name and pathlib.Path(name).is_file()})
    # A check of nothing would pass.
    return files or sys.exit("git lists no file here")


def too_wide(path, text):
    """The lines of a document, or of comments, that have more than WIDTH characters. Links alone on their line and
    fenced text of pages that a program writes may."""
    mark = COMMENTS.get(path.suffix) or COMMENTS.get(path.name) or ("#" if text.startswith("#!") else None)
    if not (path.suffix == ".md" or mark):
        return
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        if path.suffix != ".md":
            if len(line) > WIDTH and re.search(rf"(^|\s){mark}", line):
                yield number
            continue
        found = FENCE.match(line)
        if found and fence in (None, found[1]):
            fence = None if fence else found[1]
        elif len(line) > WIDTH and not (str(path).startswith(WRITTEN) if fence else ALONE.match(line)):
            yield number


def mistakes_of(path):
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    lines = text.splitlines()
    is_code = path.suffix in CODE or path.name == "CMakeLists.txt" or text.startswith("#!")
    if is_code and not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:2]):
        yield 1, "the line 'SPDX-License-Identifier: Apache-2.0' is not among the first two"
    if text and not text.endswith("\n"):
        yield len(lines), "the last line has no end"
    if str(path) == "README.md" and len(lines) > README_LINES:
        yield README_LINES + 1, f"the README has more than {README_LINES} lines: what is left belongs into docs/"
    for number in too_wide(path, text):
        yield number, f"more than {WIDTH} characters: wrap it"
    for number, line in enumerate(lines, 1):
        if MARKS.search(line):
            yield number, "a left-over mark"
        if DECODERS.search(line) and path.parts[0] in ("cache", "tuner") and str(path) not in BOUNDED:
            yield number, "a decoder that bounds nothing: cache/base/decode.hpp has those that do"
        if MACHINE_PATHS.search(line):
            yield number, "a path of one machine"
        if line != line.rstrip() and path.suffix != ".map":
            yield number, "blanks at the end of the line"
        if path.suffix == ".md":
            for target, anchor in LINK.findall(line):
                if wrong := dead_link(path, text, target, anchor):
                    yield number, wrong


def words(pages):
    """How many words the pages have, a text by its path, as `wc -w` counts them."""
    return sum(len((GENERATED.sub("", text) if path == "README.md" else text).split()) for path, text in pages.items()
               if PAGE.match(path))


def too_many_words(pages):
    """In words, that the pages have become too long, and what to do; empty where they have not."""
    if (found := words(pages)) <= MOST_WORDS:
        return ""
    return (f"the pages have {found:,} words, {MOST_WORDS:,} at most: cut {found - MOST_WORDS:,}, first what is said "
            "twice, repeats a header or tells history")


def main():
    count = 0
    paths = tracked_files()
    pages = {str(path): path.read_text(encoding="utf-8") for path in paths if PAGE.match(str(path))}
    if wrong := too_many_words(pages):
        print(wrong)
        count += 1
    for path in paths:
        if path.name == "LICENSE":
            continue
        for number, message in mistakes_of(path):
            print(f"{path}:{number}: {message}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
