#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks docs/decisions: their number, their form (context, decision, consequences, status), that one that stands is
referred to by a page or a source, one that was replaced by none, and that no reference leads nowhere."""
import pathlib
import re
import sys

from check_texts import tracked_files

FOLDER = pathlib.PurePath("docs/decisions")
MOST = 35
MOST_WORDS = 450
PARTS = ["Context", "Decision", "Consequences", "Status"]
STATUS = re.compile(r"(Stands\.|Replaced by \[(\d+)\]\((\d{4}-[\w-]+\.md)\)\.)$")
STALE = re.compile(r"\b(no longer|not any more) stands?\b|\bstands no (more|longer)\b", re.I)
# How records link each other.
SIBLING = re.compile(r"\]\((\d{4}-[\w-]+\.md)")
# A file in a link or a comment, or a number in words.
REFERENCE = re.compile(r"decisions/(\d{4}-[\w-]+\.md)|\b[Dd]ecision (\d{1,4})\b")


def references(text, names):
    """The lines and the records that a text refers to; None for a record that is not there."""
    for number, line in enumerate(text.splitlines(), 1):
        for file, digits in REFERENCE.findall(line):
            wanted = file or f"{int(digits):04}-"
            yield number, next((name for name in names if name.startswith(wanted)), None), file or f"decision {digits}"


def mistakes_of_form(name, text, names):
    title, _, body = text.partition("\n")
    if not title.startswith(f"# {int(name[:4])}. "):
        yield f"its title does not begin with '# {int(name[:4])}. '"
    found = [part for part in re.findall(r"^\*\*(\w[\w ]*)\.\*\*", body, re.M) if part in PARTS]
    if found != PARTS:
        yield f"it has not the parts {', '.join(PARTS)}, once each and in this order"
        return
    status = STATUS.match(body.rpartition("**Status.**")[2].strip())
    if not status:
        yield "its status is neither 'Stands.' nor 'Replaced by [N](NNNN-name.md).'"
    elif status[3] and (status[3] not in names or "**Status.** Stands." not in names[status[3]]):
        yield f"it is replaced by {status[3]}, which is not there or stands no more"
    elif status[3] and int(status[2]) != int(status[3][:4]):
        yield f"its status calls {status[3]} {status[2]}"
    if status and status[1] == "Stands." and (stale := STALE.search(body)):
        yield f"its status is 'Stands.', and its text says '{stale[0]}'"
    if len(text.split()) > MOST_WORDS:
        yield f"it has {len(text.split())} words: a record is a page, {MOST_WORDS} words at most"


def mistakes(texts):
    """`texts`: all that may refer to a record, the records among them, by path. Yields path, line and mistake."""
    records = {pathlib.PurePath(path).name: text for path, text in texts.items()
               if pathlib.PurePath(path).parent == FOLDER}
    replaced = {name for name, text in records.items() if "**Status.** Replaced" in text}
    referred = set()
    for path, text in texts.items():
        if pathlib.PurePath(path).parent == FOLDER:
            continue
        for line, name, written in references(text, records):
            if name is None:
                yield path, line, f"{written} is not there"
            elif name in replaced and path != "CHANGELOG.md":
                yield path, line, f"{written} was replaced: refer to the record that its status names"
            elif path != "CHANGELOG.md":
                referred.add(name)
    for name, text in sorted(records.items()):
        for mistake in mistakes_of_form(name, text, records):
            yield str(FOLDER / name), 1, mistake
        for other in sorted(set(SIBLING.findall(text.partition("**Status.**")[0])) & replaced):
            yield str(FOLDER / name), 1, f"{other} was replaced: refer to the record that its status names"
        if name not in referred | replaced:
            yield str(FOLDER / name), 1, "no page or source refers to it: link it where its subject is, or take it out"
    numbers = [name[:4] for name in records]
    for name in sorted(records):
        if numbers.count(name[:4]) > 1:
            yield str(FOLDER / name), 1, f"another record has the number {int(name[:4])}: take the next one"
    if len(records) > MOST:
        yield str(FOLDER), 1, f"{len(records)} records, and {MOST} are the most: merge those of one subject"


def main():
    texts = {}
    for path in tracked_files():
        # Kernels keep their bytes, and tests of this script quote records that are none.
        if path.parts[0] == "kernels" or path.parts[:2] == ("tests", "scripts"):
            continue
        try:
            texts[str(path)] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    found = list(mistakes(texts))
    for path, line, mistake in found:
        print(f"{path}:{line}: {mistake}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
