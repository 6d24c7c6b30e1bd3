#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C, C++ and Python that the pages and the public headers show compiles against the public headers. A page's
snippets are one program: each sees what those before it declare, and may declare it anew. Errors name page and line."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"))
from snippets import HEADERS, ROOT, Snippet, snippets  # noqa: E402

INCLUDE = re.compile(r"^#include .*$", re.M)
FUNCTION = re.compile(r"^\w[^\n;=]*\) \{$", re.M)

# The application's names that snippets assume.
GIVEN_C = """
#include <stdio.h>
static int64_t rows, cols;
static void *stream, *x, *y;
"""
GIVEN_CPP = """
#include <cstdint>
struct bf16 { std::uint16_t bits; };
using CUstream = struct CUstream_st*;
using CUlibrary = struct CUlib_st*;
[[maybe_unused]] static CUstream stream;
[[maybe_unused]] static CUlibrary library;
[[maybe_unused]] static std::int64_t rows, cols, x_pitch, y_pitch;
[[maybe_unused]] static bf16 *x, *y;
int cuLibraryLoadData(CUlibrary*, const void*, void*, void*, unsigned, void*, void*, unsigned);
"""


def program(language: str, given: str) -> str:
    """One source of all snippets of a language: a function a page, a scope a snippet inside the one before."""
    pages: dict[pathlib.Path, list[Snippet]] = {}
    includes = []
    for snippet in snippets():
        if snippet.language == language:
            pages.setdefault(snippet.page, []).append(snippet)
            includes += INCLUDE.findall(snippet.text)
    text = "\n".join(dict.fromkeys(includes)) + given
    for number, (page, own) in enumerate(pages.items()):
        body = ""
        for snippet in own:
            code = f'#line {snippet.line} "{page.relative_to(ROOT)}"\n' + INCLUDE.sub("", snippet.text)
            if FUNCTION.search(snippet.text):
                text += code
            else:
                body += "{\n" + code
        text += f"void page_{number}(void);\nvoid page_{number}(void) {{\n{body}" + "}\n" * (body.count("{\n#line") + 1)
    return text


class Snippets(unittest.TestCase):
    def compile(self, compilers: list[str], options: list[str], suffix: str, text: str) -> None:
        there = [compiler for compiler in compilers if shutil.which(compiler)]
        self.assertTrue(there, f"none of {', '.join(compilers)} is installed")
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / f"snippets{suffix}"
            source.write_text(text)
            if "winners.hpp" in text:
                self.write_winners(pathlib.Path(folder))
            for compiler in there:
                command = [compiler, *options, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-I",
                           str(HEADERS), "-I", folder, str(source)]
                ran = subprocess.run(command, capture_output=True, text=True)
                self.assertEqual(ran.returncode, 0, f"{compiler} refuses a documented snippet:\n{ran.stderr}")

    def write_winners(self, folder: pathlib.Path) -> None:
        command = [os.environ["TILEWRIGHT_TEST_PROGRAM"], "export", "--header", str(folder / "winners.hpp"), "softmax",
                   "dtype=bf16", "rows=4096", "cols=8192", "--cache", os.environ["TILEWRIGHT_TEST_WINNERS"],
                   "--device", "H200"]
        subprocess.run(command, check=True, capture_output=True)

    def test_the_cpp_of_the_pages_compiles(self):
        self.compile(["g++", "clang++"], ["-std=c++20"], ".cpp", program("cpp", GIVEN_CPP))

    def test_the_c_of_the_pages_compiles(self):
        self.compile(["gcc", "clang"], ["-std=c99"], ".c", program("c", GIVEN_C))

    def test_the_python_of_the_pages_compiles(self):
        own = [snippet for snippet in snippets() if snippet.language == "python"]
        self.assertTrue(own)
        for snippet in own:
            compile("\n" * (snippet.line - 1) + snippet.text, str(snippet.page.relative_to(ROOT)), "exec")

    def test_every_fence_is_of_a_language_that_is_known(self):
        known = {"c", "cpp", "python", "sh", "cmake", "toml", "cuda", "json", "nginx", "yaml"}
        self.assertEqual({snippet.language for snippet in snippets()} - known, set())


if __name__ == "__main__":
    unittest.main()
