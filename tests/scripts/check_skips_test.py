# SPDX-License-Identifier: Apache-2.0
"""What scripts/lib/check_skips.py takes for a skip, and which it lets pass."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"))
import check_skips  # noqa: E402

LOG = """99% tests passed, 0 tests failed out of 3

The following tests did not run:
\t  7 - gpu_tests.Device.runs (Skipped)
\t 12 - cli_tests.Help.has_a_page (Skipped)
\t 13 - cli_tests.Help.is_gone (Not Run)
"""


class CheckSkips(unittest.TestCase):
    def test_a_skip_that_no_line_allows_is_found(self):
        patterns = check_skips.allowed_patterns(r"gpu_tests\..*  needs a GPU")
        self.assertEqual(check_skips.unexpected(LOG, patterns), ["cli_tests.Help.has_a_page", "cli_tests.Help.is_gone"])

    def test_a_pattern_matches_whole_names(self):
        self.assertEqual(len(check_skips.unexpected(LOG, check_skips.allowed_patterns("cli_tests  part of a name"))), 3)

    def test_comments_and_empty_lines_allow_nothing(self):
        self.assertEqual(check_skips.allowed_patterns("# .* all\n\n   \n"), [])

    def test_tests_that_ran_are_no_skips(self):
        log = "  7/99 Test  #7: gpu_tests.Device.runs ....   Passed    0.01 sec\n"
        self.assertEqual(check_skips.unexpected(log, []), [])

    def test_of_tests_with_parameters_are_found_by_the_name_without_it(self):
        log = ('\t  7 - unit_kernels.Ops/Spaces.hold/gemm  # GetParam() = "gemm" (Skipped)\n'
               "\t  8 - gpu_tests.Cases/Gpu.is_right/0  # GetParam() = dtype=bf16 b=2 (Skipped)\n"
               '3/10 Testing: unit_compile.whole.0\n[  SKIPPED ] Ops/X.y/0, where GetParam() = ("a", 1) (3 ms)\n')
        found = ["unit_kernels.Ops/Spaces.hold/gemm", "gpu_tests.Cases/Gpu.is_right/0", "unit_compile.Ops/X.y/0"]
        self.assertEqual(check_skips.unexpected(log, []), found)
        self.assertEqual(check_skips.unexpected(log, check_skips.allowed_patterns(r"gpu_tests\..*  needs a GPU")),
                         [found[0], found[2]])

    def test_what_a_whole_program_skips_is_found(self):
        log = (
            "3/10 Testing: store_tests.whole.0\n3/10 Test: store_tests.whole.0\n[ RUN      ] DiskFull.is_told\n"
            "[  SKIPPED ] DiskFull.is_told (0 ms)\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] DiskFull.is_told\n"
        )
        self.assertEqual(check_skips.unexpected(log, []), ["store_tests.DiskFull.is_told"])
        self.assertEqual(check_skips.unexpected(log, check_skips.allowed_patterns(r"store_tests\.Disk.* no right")), [])


if __name__ == "__main__":
    unittest.main()
