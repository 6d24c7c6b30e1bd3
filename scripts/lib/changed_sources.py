#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""changed_sources.py [COUNT]: prints the .cpp of cache/ and tuner/ that the newest COUNT commits (50) changed, and
those that include a header which they changed. Commits of .git-blame-ignore-revs, which move or format alone, do not
count, nor do changes of comments; what is not committed does."""
import pathlib
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
# A literal stays as it is, whatever it has of a comment.
LITERAL_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
ROOMS = ("cache/", "tuner/")


def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout.splitlines()


def ignored_commits():
    path = pathlib.Path(".git-blame-ignore-revs")
    lines = path.read_text().splitlines() if path.exists() else []
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def code_of(text):
    """The words of a source without its comments."""
    return LITERAL_OR_COMMENT.sub(lambda found: found.group(1) or " ", text).split()


def versions(names):
    """The text of each COMMIT:PATH; empty where there is none."""
    process = subprocess.run(["git", "cat-file", "--batch"], check=True, capture_output=True,
                             input="".join(f"{name}\n" for name in names).encode())
    texts, at = [], 0
    for _ in names:
        end = process.stdout.index(b"\n", at)
        header = process.stdout[at:end].split()
        at = end + 1
        size = int(header[2]) if len(header) == 3 and header[1] == b"blob" else None
        texts.append("" if size is None else process.stdout[at:at + size].decode(errors="replace"))
        at += 0 if size is None else size + 1
    return texts


def changed_by(commit):
    """The files whose code a commit changes."""
    paths = git("diff-tree", "--root", "--no-commit-id", "--name-only", "-r", commit)
    paths = [path for path in paths if path.startswith(ROOMS) and path.endswith((".cpp", ".hpp", ".h"))]
    before = versions([f"{commit}^:{path}" for path in paths])
    after = versions([f"{commit}:{path}" for path in paths])
    return {path for path, old, new in zip(paths, before, after) if code_of(old) != code_of(new)}


def changed_files(count):
    ignored = ignored_commits()
    # A merge's changes are those of its commits.
    commits = [each for each in git("rev-list", "--no-merges", f"--max-count={count}", "HEAD") if each not in ignored]
    changed = {*git("diff", "--name-only", "HEAD"), *git("ls-files", "--others", "--exclude-standard")}
    for commit in commits:
        changed.update(changed_by(commit))
    return changed


def affected_sources(changed, texts):
    """The .cpp of `texts` (path to text) that changed, and for each changed header those that include it: by itself, or
    through headers where no source does."""
    includers = {}
    for path, text in texts.items():
        for header in INCLUDE.findall(text):
            includers.setdefault(header, set()).add(path)
    sources, seen, headers = set(), set(), [path for path in changed if not path.endswith(".cpp")]
    sources.update(path for path in changed if path in texts and path.endswith(".cpp"))
    while headers:
        header = headers.pop()
        if header in seen:
            continue
        seen.add(header)
        direct = {path for path in includers.get(header, ()) if path.endswith(".cpp")}
        sources.update(direct)
        if not direct:
            headers.extend(includers.get(header, ()))
    return sorted(sources)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    files = [path for path in git("ls-files", "--cached", "--others", "--exclude-standard") if path.startswith(ROOMS)]
    files = [path for path in files if path.endswith((".cpp", ".hpp", ".h")) and pathlib.Path(path).is_file()]
    texts = {path: pathlib.Path(path).read_text() for path in files}
    print("\n".join(affected_sources(changed_files(count), texts)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
