# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import json
import os
import pathlib
import stat
import tempfile
import unittest

import measure_tuner

PROGRAM = os.environ.get("TILEWRIGHT_TEST_PROGRAM", "")
OPS = pathlib.Path(__file__).resolve().parent.parent / "cli/ops"
TINY = ["--device", "cpu", "--ops", str(OPS), "--budget-ms", "5", "--sweep", "shift --max-configs 3 rows=1,2 cols=33"]


def run(*words):
    """Exit code, standard output, standard error."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = measure_tuner.main(list(words))
    return code, out.getvalue(), err.getvalue()


class Experiments(unittest.TestCase):
    """Each with the program itself, on the emulator."""

    @unittest.skipUnless(PROGRAM, "the build names the program")
    def test_run_by_one_command_and_write_their_figures(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "figures.json"
            code, table, said = run("all", "--program", PROGRAM, *TINY, "--repetitions", "2", "--keep",
                                    f"{folder}/caches", "--out", str(out))
            self.assertEqual(code, 0, said)
            figures = json.loads(out.read_text(encoding="utf-8"))
            self.assertTrue((pathlib.Path(folder) / "caches/first.db").exists())
        self.assertEqual(len(figures["repeat"]["problems"]), 2)
        for each in figures["repeat"]["problems"]:
            self.assertGreater(each["second_over_first"], 0)
        self.assertGreater(figures["repeat"]["sweeps"][1]["compiled"], 0, "the second is as cold as the first")
        self.assertEqual(figures["rate"]["warm"]["compiled"], 0)
        self.assertEqual(figures["rate"]["warm"]["measured"], figures["rate"]["cold"]["measured"])
        self.assertGreater(figures["rate"]["per_second"], 0)
        self.assertIsNone(figures["rate"]["busy"])
        self.assertEqual(figures["devices"]["devices"], 2)
        self.assertGreater(figures["devices"]["of_linear"]["warm"], 0)
        self.assertGreater(figures["grid"]["seconds"], 0)
        for name in measure_tuner.EXPERIMENTS:
            self.assertIn(name, table)
        self.assertIn("asked: 60", table)

    @unittest.skipUnless(PROGRAM, "the build names the program")
    def test_time_two_configs_side_by_side(self):
        with tempfile.TemporaryDirectory() as folder:
            cache = pathlib.Path(folder) / "cache.db"
            program = measure_tuner.Program(measure_tuner.parse(["repeat", "--program", PROGRAM, *TINY]))
            _, rows = program.sweep("shift --max-configs 3 rows=1 cols=33", cache)
            words = measure_tuner.problem_words("shift", rows[0])
            self.assertEqual(words, ["shift", "dtype=f32", "act=none", "rows=1", "cols=33"])
            ratio = measure_tuner.side_by_side(program, cache, words, "rowwise{variant=0,width=64}", 2)
        self.assertGreater(ratio, 0)


class Failures(unittest.TestCase):
    def program(self, folder, text):
        file = pathlib.Path(folder) / "tilewright"
        file.write_text("#!/bin/sh\n" + text, encoding="utf-8")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return str(file)

    def test_tell_the_command_and_what_it_said(self):
        with tempfile.TemporaryDirectory() as folder:
            file = self.program(folder, '[ "$1" = --version ] && exit 0; echo no GPU here >&2; exit 1\n')
            code, _, said = run("grid", "--program", file)
        self.assertEqual(code, 1)
        self.assertIn("tilewright sweep softmax", said)
        self.assertIn("ended with 1:\nno GPU here", said)

    def test_name_a_missing_program_and_caches_that_would_not_be_cold(self):
        for words, told in ((["grid", "--program", os.devnull + "/none"], "name it by --program"),
                            (["grid", "--program", PROGRAM or "/bin/sh", "--keep", "{}"], "would not be cold")):
            with tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "old.db").touch()
                with contextlib.redirect_stderr(io.StringIO()) as err, self.assertRaises(SystemExit) as end:
                    measure_tuner.main([word.format(folder) for word in words])
            self.assertEqual(end.exception.code, 2)
            self.assertIn(told, err.getvalue())


class ProblemWords(unittest.TestCase):
    def test_are_those_that_the_program_takes(self):
        row = {"shape_key": "gemm[dtype=bf16,layout=nt,pitch=dense]{m=1,n=2,k=3}"}
        self.assertEqual(measure_tuner.problem_words("gemm", row),
                         ["gemm", "dtype=bf16", "layout=nt", "m=1", "n=2", "k=3"])


if __name__ == "__main__":
    unittest.main()
