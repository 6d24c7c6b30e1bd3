#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds claims of the documents that name nothing which holds them: a paragraph, a list item or a row of a table with
"tested", "held by a test", "never" or "every" must have a test's name or a link, and one with a measured time or rate
one of them or a command. A test that is named must be there."""
import pathlib
import re
import sys

from check_texts import tracked_files

CLAIM = re.compile(r"\b(tested|never|every)\b|\bheld by a test\b|\btests? holds?\b", re.I)
# A time or a rate, which someone has measured. Percents are thresholds, too, and milliseconds limits.
FIGURE = re.compile(r"[\d.]+ ?(µs|ns|TFLOP|[TG]B/s)(?!\w)|\btimes as (fast|long)\b")
COMMAND = re.compile(r"`(\./)?(tilewright|scripts/\w+|\w+_benchmark)\b[^`]*`")
# Of a link to the page itself nothing follows.
LINK = re.compile(r"\]\([^)#][^)]*\)")
# `Suite.name_of_a_test`, `Suite.name_that_begins_so…`, `Suite.*`, or the path of a test.
NAMED = re.compile(r"`(?:(\w+)\.([a-z]\w*_\w+…?|\w+…|\*)|(tests/[\w./-]+)|(\w+_tests?)(?: [^`]*)?)`")
DEFINED = re.compile(r"^TEST(?:_F|_P)?\((\w+), *(\w+)\)", re.M)
PYTHON = re.compile(r"^class (\w+)\(.*\):|^    def (test_\w+)\(", re.M)
PROGRAM = re.compile(r"tilewright_test\((\w+)")
FENCE = re.compile(r"[\s>]*(```|~~~)")
BEGINS = re.compile(r"\s*([-*+] |\d+\. |\||#|$)")
# What programs write.
GENERATED = ("docs/cli.md", "docs/benchmarks/")
# Records say what shall be, and the page of what was tried has its commands above its tables. The tests that they name
# are looked for all the same.
RECORDS = "docs/decisions/"
TRIED = "docs/tried.md"


def blocks(text):
    """Paragraphs, list items, rows and headings outside of fences, each with its first line."""
    fence, begun, lines = None, 0, []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        found = FENCE.match(line)
        if found and fence in (None, found[1]):
            fence = None if fence else found[1]
        elif not fence and not found:
            if BEGINS.match(line) and lines:
                yield begun, " ".join(lines)
                lines = []
            # An indented block is a formula or an output.
            if line.strip() and (lines or not line.startswith("    ")):
                begun = begun if lines else number
                lines.append(line.strip())
            continue
        if lines:
            yield begun, " ".join(lines)
            lines = []


class Tests:
    """The tests that there are, by the sources that define them."""

    def __init__(self, sources):
        self.names, self.programs, self.paths = set(), set(), set(sources)
        for path, text in sources.items():
            self.paths |= {str(parent) for parent in pathlib.PurePath(path).parents}
            self.names |= {f"{suite}.{name}" for suite, name in DEFINED.findall(text)}
            self.programs |= set(PROGRAM.findall(text))
            if path.endswith(".py"):
                suite = ""
                for named, test in PYTHON.findall(text):
                    suite = named or suite
                    self.names |= {f"{suite}.{test}"} if test else set()

    def has(self, suite, name, path, program):
        if path:
            return path.rstrip("/") in self.paths
        if program:
            return program in self.programs
        wanted = f"{suite}.{name}"
        if wanted.endswith(("…", "*")):
            return any(each.startswith(wanted[:-1]) for each in self.names)
        return wanted in self.names or any(each.endswith(wanted) for each in self.names)


def mistakes(text, tests, claims=True, figures=True):
    for line, block in blocks(text):
        held = LINK.search(block) is not None
        for suite, name, path, program in NAMED.findall(block):
            if tests.has(suite, name, path, program):
                held = True
            elif path or program or suite[0].isupper():
                yield line, f"there is no test {path or program or f'{suite}.{name}'}"
                held = True  # told already
        plain = re.sub(r"`[^`]*`", "", block)
        words = {found[0].lower() for found in CLAIM.finditer(plain)}
        # A heading only names what stands below it.
        if claims and words and not block.startswith("#") and not held:
            yield line, f"'{', '.join(sorted(words))}': name the test that holds it, link it, or say less"
        if claims and figures and (figure := FIGURE.search(plain)) and not held and not COMMAND.search(block):
            yield line, f"'{figure[0]}': name the command that measures it, or link the page that has it"


def is_document(path):
    return (path in ("README.md", "CONTRIBUTING.md")
            or path.startswith("docs/") and path.endswith(".md") and not path.startswith(GENERATED))


def main():
    texts = {}
    for path in tracked_files():
        if path.parts[0] in ("docs", "tests") or len(path.parts) == 1:
            try:
                texts[str(path)] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                texts[str(path)] = ""
    tests = Tests({path: text for path, text in texts.items() if path.startswith("tests/")})
    count = 0
    for path in sorted(filter(is_document, texts)):
        for line, mistake in mistakes(texts[path], tests, not path.startswith(RECORDS), path != TRIED):
            print(f"{path}:{line}: {mistake}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
