# SPDX-License-Identifier: Apache-2.0
import argparse
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import compare_peers
from peers import warm

SCRIPTS = pathlib.Path(compare_peers.__file__).parent


def run(*words):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = compare_peers.main(list(words))
    return code, out.getvalue(), err.getvalue()


def refusal(*words):
    with contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            compare_peers.parse(list(words))
        except SystemExit as end:
            return end.code, err.getvalue()
    raise AssertionError("nothing was refused")


class CommandLine(unittest.TestCase):
    def test_lists_cells_without_torch(self):
        code, out, _ = run("--list", "--only", "softmax-bf16-16x")
        self.assertEqual((code, out), (0, "softmax-bf16-16x4096\n"))

    def test_names_mistakes(self):
        for words, expected in ((["--dtype", "f8"], "f8"), (["--shapes", "7"], "ROWSxCOLS"), (["--only", "("], "error"),
                                (["--rounds", "0"], "1 or more"), (["--warm-worker", "4/4"], "N-1"),
                                (["--share", "x"], "I/N"), (["--op", "gem"], "and gemm"),
                                (["--peers", "cuda"], "cublaslt"),
                                (["--sets", "plain"], "--op gemm"),
                                (["--op", "softmax", "--regime", "burst"], "--op gemm"),
                                (["--op", "gemm", "--sets", "all"], "layouts"),
                                (["--op", "gemm", "--shapes", "7x5"], "MxNxK"),
                                (["--off-beaten", "34"], "--op gemm alone"),
                                (["--op", "attention_bwd", "--draws", "6"], "--op attention alone"),
                                (["--op", "gemm", "--off-beaten", "34", "--shapes", "7x5x8"], "of its own"),
                                (["--op", "gemm", "--off-beaten", "34", "--sets", "f16"], "epilogue")):
            code, text = refusal(*words)
            self.assertEqual(code, 2)
            self.assertIn(expected, text)

    def test_takes_gemm_only_where_it_is_asked_for(self):
        self.assertNotIn("gemm", {cell.op for cell in compare_peers.parse([]).cells})
        self.assertEqual({cell.op for cell in compare_peers.parse(["--op", "gemm"]).cells}, {"gemm"})
        both = compare_peers.parse(["--op", "softmax,gemm", "--dtype", "f16"]).cells
        self.assertEqual({(cell.op, cell.dtype) for cell in both}, {("softmax", "f16"), ("gemm", "f16")})

    def test_keeps_results_of_both_regimes_apart(self):
        names = []
        for regime in ([], ["--regime", "burst"], ["--regime", "sustained"]):
            options = compare_peers.parse(["--op", "gemm", *regime])
            names.append(compare_peers.result_file(options, options.cells[0]).name)
        self.assertEqual(names[0], names[1])
        self.assertEqual(names[2], names[0].replace(".json", "-sustained.json"))

    def test_splits_cells_into_parts_that_cover_all(self):
        self.assertEqual(compare_peers.parse_share("1/4"), (1, 4))
        self.assertRaises(argparse.ArgumentTypeError, compare_peers.parse_share, "-1/4")

    def test_report_of_nothing_fails_in_words(self):
        with tempfile.TemporaryDirectory() as folder:
            code, _, err = run("--report", folder)
        self.assertEqual(code, 1)
        self.assertIn("no result", err)

    def test_resumes_what_has_a_result_of_the_same_commit(self):
        with tempfile.TemporaryDirectory() as folder:
            options = compare_peers.parse(["--out", folder, "--only", "softmax", "--commit", "abc"])
            first, second = options.cells[:2]
            compare_peers.write(compare_peers.result_file(options, first), {"commit": "abc"})
            compare_peers.write(compare_peers.result_file(options, second), {"commit": "old"})
            self.assertTrue(compare_peers.is_done(options, first))
            self.assertFalse(compare_peers.is_done(options, second))
            self.assertFalse(compare_peers.is_done(options, options.cells[2]))
            self.assertEqual(json.loads((pathlib.Path(folder) / f"{first.name}.json").read_text()), {"commit": "abc"})


class Warming(unittest.TestCase):
    def test_without_a_folder_everything_is_ready(self):
        cell = compare_peers.parse(["--only", "softmax"]).cells[0]
        self.assertTrue(warm.Warm().compiled_is_ready(cell))

    def test_stamps_are_of_a_cell_and_a_thing(self):
        first, second = compare_peers.parse(["--only", "softmax"]).cells[:2]
        with tempfile.TemporaryDirectory() as folder:
            stamps = warm.Warm(folder)
            stamps.mark(first, "torch.compile")
            self.assertTrue(stamps.compiled_is_ready(first))
            self.assertFalse(stamps.compiled_is_ready(second))
            self.assertFalse(stamps.has(first, "softmax_block{}"))

    def test_what_is_left_out_where_it_is_not_compiled_comes_first_and_what_takes_long_last(self):
        cells = compare_peers.parse(["--only", "^softmax-bf16-(8192x4096|4096x16384)$"]).cells
        quick, dear = (types.SimpleNamespace(is_dear=is_dear) for is_dear in (False, True))
        order = warm.order(cells, ["eager", "compile", "triton", "liger", "quack"], lambda _cell: [dear, quick])
        first, second = cells
        self.assertEqual(order, [(first, [quick], ["compile"]), (second, [quick], ["compile"]),
                                 (first, [], ["liger", "quack"]), (second, [], ["liger", "quack"]),
                                 (first, [dear], []), (second, [dear], [])])
        self.assertEqual(warm.order(cells, ["eager", "quack"], None), [(cell, [], ["quack"]) for cell in cells])

    def test_products_of_quack_are_left_to_its_own_processes(self):
        cells = compare_peers.parse(["--op", "gemm,mlp", "--peers", "compile,quack"]).cells
        order = warm.order(cells, ["compile", "quack"], None)
        self.assertEqual([cell for cell, _, _ in order], cells)
        self.assertEqual({tuple(named) for _, _, named in order}, {("compile",)})

    def test_workers_that_take_too_long_are_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            program = "import sys, time; time.sleep(0 if sys.argv[-1] == '0/2' else 60)"
            ended, _ = warm.run([sys.executable, "-c", program], 2, 3, pathlib.Path(folder))
        self.assertEqual(ended, 1)


    def test_are_on_the_gpus_that_the_environment_names(self):
        note = ("import os, pathlib, sys; pathlib.Path(sys.argv[1], sys.argv[-1].replace('/', '-')).write_text("
                "os.environ['CUDA_VISIBLE_DEVICES'])")
        with tempfile.TemporaryDirectory() as name, mock.patch.dict(os.environ, {"CUDA_VISIBLE_DEVICES": "3,5,7"}):
            command = [sys.executable, "-c", note, name]
            self.assertEqual(compare_peers.measure_on_gpus(command, 2), 0)
            found = [(pathlib.Path(name) / f"{i}-2").read_text(encoding="utf-8") for i in range(2)]
            warm.run(command, 2, 30, pathlib.Path(name, "logs"), gpus=2)
            warmed = [(pathlib.Path(name) / f"{i}-2").read_text(encoding="utf-8") for i in range(2)]
        self.assertEqual((found, warmed), (["3", "5"], ["3", "5"]))


class Sources(unittest.TestCase):
    def test_all_compile_those_that_need_torch_too(self):
        for path in [SCRIPTS / "compare_peers.py", *sorted((SCRIPTS / "peers").glob("*.py"))]:
            compile(path.read_text(encoding="utf-8"), str(path), "exec")

    def test_help_needs_nothing_installed(self):
        done = subprocess.run([sys.executable, "-E", "-S", str(SCRIPTS / "compare_peers.py"), "--help"],
                              capture_output=True,
                              text=True, env={})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("--resume", done.stdout)


if __name__ == "__main__":
    unittest.main()
