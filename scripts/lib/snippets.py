# SPDX-License-Identifier: Apache-2.0
"""What the pages and the public headers show: code and commands, each with its page and line."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "cache/launch/include"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
COMMENT = re.compile(r"(?:^(?:///| \*)   .*\n)+", re.M)


class Snippet:
    def __init__(self, page: pathlib.Path, line: int, language: str, text: str):
        self.page, self.line, self.language, self.text = page, line, language, text


def snippets_of(page: pathlib.Path) -> list[Snippet]:
    text = page.read_text()
    return [Snippet(page, text.count("\n", 0, fence.start(2)) + 1, fence[1], fence[2])
            for fence in FENCE.finditer(text)]


def commands_of(page: pathlib.Path) -> list[Snippet]:
    """The page's shell commands, one by one, also those of scripts/ that stand in its sentences."""
    text = page.read_text()
    found = []
    for match in re.finditer(FENCE.pattern + r"|`((?:\./)?scripts/\w+\s[^`…]+)`", text, re.M | re.S):
        if match[1] not in (None, "sh"):
            continue
        lines = match[2].replace("\\\n", "  ").splitlines() if match[1] else [" ".join(match[3].split())]
        first = text.count("\n", 0, match.start()) + (2 if match[1] else 1)
        found += [Snippet(page, first + at, "sh", line) for at, line in enumerate(lines) if line.strip()]
    return found


def snippets() -> list[Snippet]:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "cache/launch/python/README.md"]
    found = []
    for page in pages + sorted((ROOT / "docs").rglob("*.md")):
        found += snippets_of(page)
    for header in sorted(HEADERS.rglob("*.h*")):
        text = header.read_text()
        for comment in COMMENT.finditer(text):
            code = re.sub(r"^(///| \*)", "", comment[0], flags=re.M)
            language = "c" if header.suffix == ".h" else "cpp"
            found.append(Snippet(header, text.count("\n", 0, comment.start()) + 1, language, code))
    return found
