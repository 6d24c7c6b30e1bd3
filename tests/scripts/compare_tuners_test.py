# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import os
import pathlib
import stat
import tempfile
import unittest

import compare_caches
import compare_tuners


def program(folder, text):
    file = pathlib.Path(folder) / "tilewright"
    file.write_text("#!/bin/sh\n" + text, encoding="utf-8")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


class TilewrightTurn(unittest.TestCase):
    def test_counts_from_the_open_device_to_the_committed_winner(self):
        with tempfile.TemporaryDirectory() as folder:
            file = program(folder,
                           "echo device: cuda:0 >&2; echo '[ 0.1 s] 1/1 softmax: 6 configs, 0 known' >&2; sleep 0.2\n"
                           "echo '[ 0.3 s] 1/1 softmax: 9 us onchip{}' >&2; sleep 0.2\n"
                           "echo 1 problem in 0.3 s >&2\n")
            turn = compare_tuners.tilewright_turn(file, "softmax", folder, [])
        self.assertGreater(turn["seconds"], 0.19)
        self.assertGreater(turn["whole_process_s"], turn["seconds"] + 0.19)
        self.assertIn("9 us onchip{}", turn["winner"])
        self.assertEqual(turn["summary"], "1 problem in 0.3 s")

    def test_tells_what_a_sweep_that_failed_said(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(SystemExit) as end:
            compare_tuners.tilewright_turn(program(folder, "echo no GPU >&2; exit 1\n"), "gemm", folder, [])
        self.assertIn("ended with 1:\nno GPU", str(end.exception))


class CommandLine(unittest.TestCase):
    def test_names_a_missing_program(self):
        with self.assertRaises(SystemExit) as end:
            compare_tuners.main(["--program", os.devnull + "/none"])
        self.assertIn("--program", str(end.exception))


class CompareCaches(unittest.TestCase):
    def test_names_a_cache_that_is_not_there(self):
        with contextlib.redirect_stderr(io.StringIO()) as err, self.assertRaises(SystemExit) as end:
            compare_caches.main(["none.db", "none.db"])
        self.assertEqual(end.exception.code, 2)
        self.assertIn("there is no cache none.db", err.getvalue())


if __name__ == "__main__":
    unittest.main()
