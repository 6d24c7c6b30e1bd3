# SPDX-License-Identifier: Apache-2.0
"""scripts/benchmark: what it calls, what it keeps of it, and that pages are what their JSON makes."""
import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import shlex
import sqlite3
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
import benchmark_pages  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("benchmark", str(ROOT / "scripts" / "benchmark"))
benchmark = importlib.util.module_from_spec(importlib.util.spec_from_loader("benchmark", LOADER))
LOADER.exec_module(benchmark)

CELL = {"op": "softmax", "shape": "8192x4096", "dtype": "bf16", "ns": 33400.0, "fastest": "triton",
        "peers_ns": {"eager": 50100.0, "triton": 40080.0}, "over_fastest": [1.2, 1.19, 1.21], "no_verdict": {},
        "fit": "exact", "inaccurate": [], "gb_per_s": 4000.0, "share_of_ceiling": 0.993}
ATTENTION = {**CELL, "op": "attention", "mask": "causal", "d": "64", "regime": "burst", "sequences": "8×1024",
             "heads": "16/16", "tflops": 400.0, "peers_ns": {"cudnn": 40080.0}, "over_peers": {"cudnn": 1.2},
             "fastest": "cudnn", "implementation": "wgmma", "errors_over_best": {"rms": 1.01, "largest": None}}
DECODE = {"kind": "full", "batch": 64, "heads": "32/8", "tokens": 8192, "page": 0, "ns": 500000.0, "peers_ns": {},
          "fastest": None, "over_fastest": None, "no_verdict": {}, "fit": "exact", "implementation": "split",
          "gb_per_s": 4300.0, "error_over_best": None}
VARLEN = {"d": 64, "most": 1024, "causal": "yes", "tokens": {"varlen": 33000, "dense": 38000},
          "implementation": "wgmma", "ns": {"varlen": 1e5, "dense": 1e5}, "tflops": {"varlen": 404.0, "dense": 400.0},
          "fit": {"varlen": "exact", "dense": "nearest"}, "error": 0.0021}
DETERMINISTIC = {"d": 64, "b": 8, "s": 1024, "causal": "yes", "ns": {"yes": 1.1e5, "no": 1e5}, "ratio": 1.1,
                 "same": True, "apart": 2e-6, "fit": {"yes": "exact", "no": "nearest"},
                 "served": {"yes": "wgmma{stages=2}", "no": "mma{}"}}
FIGURES = {
    "attention": {"versions": {"torch": "2.11"}, "cells": [ATTENTION, ATTENTION | {"d": "96", "fit": "nearest"}]},
    "decode": {"versions": {"torch": "2.11"}, "cells": [DECODE, DECODE | {"page": 16, "ns": 505000.0}]},
    "varlen": {"versions": {"torch": "2.11"}, "cells": [VARLEN]},
    "deterministic": {"versions": {"torch": "2.11"}, "cells": [DETERMINISTIC, DETERMINISTIC | {"same": False}]},
    "rows": {"versions": {"torch": "2.11"}, "cells": [CELL, CELL | {"shape": "4093x1000", "over_fastest": None}]},
    "ceilings": {"versions": {"torch": "2.11"},
                 "cells": [CELL | {"implementation": "onchip", "gb_per_s": 4100.0},
                           CELL | {"shape": "16x4096", "ns": 2000.0, "share_of_ceiling": 0.5,
                                   "implementation": "onchip"}]},
    "tuner": {"to_a_winner_s": {"softmax": {arm: {"median": s, "least": s, "most": s}
                                            for arm, s in (("triton", 2.5), ("tilewright", 0.5))}},
              "grid": {"problems": 20, "seconds": 12.9, "measured": 1228, "compiled": 238}},
    "launch": {"whole_over_bare": [1.05, 1.04, 1.06], "whole_ns": [3150.0] * 3, "bare_ns": [3000.0] * 3,
               "open_ms": {"open_and_first_plan_of_10000": 1.8}},
    "untuned": {"specs": [{"spec": "softmax", "served": "exported", "asked": 10, "bounded": False, "shapes": 10,
                           "judged": 10, "mean": 0.007,
                           "notes": ["3 of 10 drawn shapes share a dim with one of the op that is tuned."],
                           "median": 0.0, "p95": 0.04, "worst": 0.06, "failed": 0,
                           "each": [{"loss": loss} for loss in (0.06, 0.04, *[0.0] * 8)]}]},
    "service": {"problems": 7551, "load": 1.2, "listeners": {"count": 1000, "mib": 7.5, "before_mib": 90.0},
                **dict.fromkeys(("exact", "nearest", "beside"), {
                    "asked": 500, "answered": 499.7, "ms": {"p50": 0.71, "p99": 1.4, "p99.9": 3.0, "max": 5.0},
                    "not_200": 0})},
}


def cache(path):
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE IF NOT EXISTS a (b)")


def result(part):
    return {"part": part, "commit": "0123456789abcdef", "device": "NVIDIA H200", "driver": "580.1", "cores": 16,
            "brief": True, "date": "2026-01-02", "seconds": 5, "commands": ["tilewright x"], "figures": FIGURES[part]}


@contextlib.contextmanager
def written(*parts):
    """A folder with these results, and a README beside them."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        readme = folder / "README"
        readme.write_text(f"before\n{benchmark_pages.BEGIN}\nold\n{benchmark_pages.END}\nafter\n", encoding="utf-8")
        for part in parts:
            (folder / f"{part}.json").write_text(json.dumps(result(part)), encoding="utf-8")
        yield folder, readme


class Tree(unittest.TestCase):
    def test_every_page_is_what_its_json_makes(self):
        wrong = benchmark_pages.differing(benchmark.RESULTS, ROOT / "README.md")
        self.assertEqual(wrong, [], "`scripts/benchmark report` makes these pages")


class Pages(unittest.TestCase):
    def test_a_page_differs_once_its_json_has_another_figure(self):
        with written("rows") as (folder, readme):
            self.assertEqual(benchmark_pages.write(folder, readme, False), 0)
            self.assertEqual(benchmark_pages.differing(folder, readme), [])
            changed = result("rows")
            changed["figures"] = {**changed["figures"], "cells": [CELL | {"ns": 40000.0}]}
            (folder / "rows.json").write_text(json.dumps(changed), encoding="utf-8")
            self.assertEqual(benchmark_pages.differing(folder, readme), [folder / "rows.md", readme])

    def test_a_page_without_json_is_told(self):
        with written() as (folder, readme):
            benchmark_pages.write(folder, readme, False)
            (folder / "typed.md").write_text("3 % faster", encoding="utf-8")
            self.assertEqual(benchmark_pages.differing(folder, readme), [folder / "typed.md"])
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(benchmark_pages.write(folder, readme, True), 1)
            self.assertIn("typed.md", said.getvalue())

    def test_of_each_part_name_commit_device_driver_date_and_command(self):
        with written(*FIGURES) as (folder, readme):
            benchmark_pages.write(folder, readme, False)
            for part in FIGURES:
                text = (folder / f"{part}.md").read_text(encoding="utf-8")
                for fact in ("0123456789ab", "NVIDIA H200", "580.1", "2026-01-02", f"scripts/benchmark {part} --brief"):
                    self.assertIn(fact, text)
                self.assertLessEqual(max(map(len, text.splitlines())), 120)

    def test_in_the_index_say_which_cells_they_have(self):
        for brief, missing, words in ((True, [], "few"), (True, ["x"], "few, in part"), (False, [], "all"),
                                      (False, ["x"], "in part")):
            self.assertEqual(benchmark_pages.extent({"part": "gemm", "brief": brief, "missing": missing}), words)

    def test_commands_go_on_in_the_next_line_and_are_the_same_to_a_shell(self):
        words = ["scripts/x.py", "--sweep", "softmax --shapes 'rows=1,2'", "--only", 'a"b', *["word"] * 40,
                 "n=" + "1234567," * 40, f"'{'x y' * 80}"]
        command = shlex.join(words)
        shown = benchmark_pages.wrapped(command)
        self.assertLessEqual(max(map(len, shown.splitlines())), 120)
        self.assertIn('''"softmax --shapes 'rows=1,2'" --only 'a"b' word''', shown)
        self.assertEqual(shlex.split(shown.replace("\\\n", "")), words)

    def test_of_cells_have_means_of_those_with_a_verdict_alone(self):
        with written("rows") as (folder, readme):
            benchmark_pages.write(folder, readme, False)
            text = (folder / "rows.md").read_text(encoding="utf-8")
        self.assertIn("geometric mean 1.200 of 1 cells", text)
        self.assertIn("All cells are served exactly; accuracy is good (rms at most 1.05 times the best", text)
        self.assertIn("## `softmax`, bf16\n\n| shape | ours, µs | eager | Triton | fastest | ratio |",
                      text)
        self.assertIn("| 8192x4096 | 33.4 | 50.1 | 40.1 | Triton | 1.200 ±0.010 | 99.3 |\n", text)

    def test_of_cells_have_a_table_a_dtype_and_a_list_of_bad_accuracy(self):
        bad = CELL | {"dtype": "f32", "inaccurate": ["rms 0.1, torch's 0.01"], "share_of_ceiling": None,
                      "fit": "nearest"}
        text = "\n".join(benchmark_pages.cells_tables([CELL, bad]))
        self.assertIn("unless our time has another fit in brackets; accuracy is good", text)
        self.assertIn("an ulp above its) but for the cells at the end.", text)
        self.assertIn("## `softmax`, bf16\n", text)
        self.assertIn("## `softmax`, f32\n", text)
        self.assertIn("| 8192x4096 | 33.4 (nearest) | 50.1 | 40.1 | Triton | 1.200 ±0.010 |\n", text + "\n")
        self.assertIn("- `softmax` 8192x4096 f32: rms 0.1, torch's 0.01", text)

    def test_of_cells_mark_wrong_peers_and_say_why_there_is_no_verdict(self):
        wrong = CELL | {"no_verdict": {"triton": "3 elements of y are no numbers", "quack": "ImportError: no quack"}}
        text = "\n".join(benchmark_pages.cells_tables([wrong]))
        self.assertIn("| 8192x4096 | 33.4 | 50.1 | (40.1) | Triton | (1.200 ±0.010) |", text)
        self.assertIn("No verdict:\n- `softmax` 8192x4096 bf16: Triton: 3 elements of y are no numbers\n"
                      "- `softmax` 8192x4096 bf16: QuACK: ImportError: no quack", text)

    def test_of_products_of_few_rows_have_the_share_of_their_ceiling(self):
        cell = {name: value for name, value in CELL.items() if name != "gb_per_s"}
        few = cell | {"op": "mlp", "tflops": 4.2, "share_of_ceiling": 0.961}
        many = {name: value for name, value in few.items() if name != "share_of_ceiling"} | {"shape": "512x8x8x8"}
        text = "\n".join(benchmark_pages.cells_page({"versions": {}, "cells": [few, many]}))
        self.assertIn("| 1.200 ±0.010 | 4 | 96.1 |\n", text)
        self.assertIn("| 1.200 ±0.010 | 4 | - |\n", text + "\n")
        self.assertIn("three reads a write", text)
        text = "\n".join(benchmark_pages.cells_page({"versions": {}, "cells": [many]}))
        self.assertNotIn("three reads a write", text)

    def test_of_cells_say_why_there_is_no_verdict_in_one_line_without_colours(self):
        self.assertEqual(benchmark_pages.in_short("RuntimeError: \n\x1b[91m\x1b[1merror:\x1b[0m no  valid IR.\n  It"),
                         "RuntimeError: error: no valid IR.")
        self.assertEqual(benchmark_pages.in_short("\n\n \x1b[0mAssertionError: 257\nmore"), "AssertionError: 257")
        self.assertEqual(benchmark_pages.in_short("ValueError:"), "ValueError:")
        self.assertEqual(benchmark_pages.in_short(""), "")
        long = benchmark_pages.in_short("E: " + 100 * "long ")
        self.assertLessEqual(len(long), 160)
        self.assertTrue(long.endswith("..."))

    def test_of_untuned_shapes_name_the_bounds_of_those_that_lose_most(self):
        old = FIGURES["untuned"]["specs"][0]
        results = {"untuned": result("untuned") | {"figures": {"specs": [
            old, old | {"spec": "softmax --within rows=1..8", "mean": 0.5}]}}}
        text = benchmark_pages.readme_table(results).replace("\n  ", " ")
        self.assertIn("(20, bf16, served by an export) lose", text)
        self.assertIn("The worst spec, `softmax` within `rows=1..8`, loses 50.0 % in the mean.", text)

    def test_of_ceilings_tell_the_least_of_large_cells_apart(self):
        with written("ceilings") as (folder, readme):
            benchmark_pages.write(folder, readme, False)
            text = (folder / "ceilings.md").read_text(encoding="utf-8")
        self.assertIn("All: half of 2 cells have 74.6 % or more, the least 50.0 %; 1 are below 95 %.", text)
        self.assertIn("128 MiB and more: half of 1 cells have 99.3 % or more, the least 99.3 %; 0 are below", text)

    def test_of_attention_have_rates_of_all_and_means_by_mask_and_head_size(self):
        with written("attention") as (folder, readme):
            benchmark_pages.write(folder, readme, False)
            text = (folder / "attention.md").read_text(encoding="utf-8")
            self.assertIn("[attention](docs/benchmarks/attention.md) 1.200 (2; 1.200).",
                          readme.read_text(encoding="utf-8"))
        self.assertIn("| burst | causal | 64 | 1 | 1.200 (1.200) | 1.200 (1.200) |", text)
        self.assertIn("## In burst, mask causal, bf16\n", text)
        self.assertIn("| 96 | 8×1024 | 16/16 | 33.4 | 400 | 333 | cuDNN | 1.200 ±0.010 | wgmma (nearest) | 1.010 | - |",
                      text)

    def test_of_decode_have_pages_beside_one_piece(self):
        with written("decode") as (folder, readme):
            benchmark_pages.write(folder, readme, False)
            text = (folder / "decode.md").read_text(encoding="utf-8")
        self.assertIn("No cell has a verdict.", text)
        self.assertIn("| full | 64 × 8192 | 32/8 | 500.0 | 4.30 | split |", text)
        self.assertIn("| full | 64 × 8192 | 32/8 | 505.0 | 4.30 | split | 16 | 1.010 |", text)

    def test_of_decode_name_flashinfer_where_it_took_part(self):
        beside = {"peers_ns": {"flash4": 1e6, "flashinfer": 550000.0}, "fastest": "flashinfer",
                  "over_fastest": [1.1, 1.09, 1.11]}
        text = benchmark_pages.page("decode", {**result("rows"), "part": "decode",
                                               "figures": {"versions": {}, "cells": [DECODE | beside]}})
        self.assertIn("| ours | FA4 | FlashInfer | ratio |", text)
        self.assertIn("| full | 64 × 8192 | 32/8 | 500.0 | 1000 | 550.0 | 1.100 ±0.010 |", text)
        self.assertIn("FlashInfer is the fastest of its kernels", text.replace("\n", " "))

    def test_of_packed_sequences_have_their_rate_beside_that_of_equal_ones(self):
        with written("varlen") as (folder, readme):
            benchmark_pages.write(folder, readme, False)
            text = (folder / "varlen.md").read_text(encoding="utf-8")
        self.assertIn("1.010 of its rate in the geometric mean of 1 cells, least 1.010.", text.replace("\n", " "))
        self.assertIn("| 64 | causal | 1 to 1024 | 404 | 400 | 1.010 | wgmma (dense nearest) | 2.1e-03 |", text)

    def test_of_deterministic_gradients_have_their_price_and_whether_the_bits_were_the_same(self):
        with written("deterministic") as (folder, readme):
            benchmark_pages.write(folder, readme, False)
            text = (folder / "deterministic.md").read_text(encoding="utf-8")
        self.assertIn("takes 1.100 times as long as without it in the geometric mean of 2 cells, at most 1.100.",
                      text.replace("\n", " "))
        row = "| 64 | causal | 8×1024 | 110.0 | 100.0 | 1.100 | {} | 2.0e-06 | wgmma | mma (nearest) |"
        self.assertIn(row.format("yes"), text)
        self.assertIn(row.format("NO"), text)

    def test_of_launches_say_what_the_cold_start_is(self):
        text = benchmark_pages.page("launch", result("launch"))
        self.assertIn("Opening a cache of 10,000 winners and planning a first launch takes 1.80 ms", text)

    def test_of_fused_products_have_the_product_without_more_beside(self):
        cell = {**CELL, "op": "gemm_dropout", "tflops": 700.0, "over_product": 1.02, "product_fit": "nearest"}
        figures = {"versions": {}, "cells": [cell, {**CELL, "op": "mlp", "tflops": 700.0}]}
        text = benchmark_pages.page("fused", {**result("rows"), "part": "fused", "figures": figures})
        self.assertIn("| 33.4 | 50.1 | 40.1 | Triton | 1.200 ±0.010 | 700 | 99.3 | 1.020 (nearest) |", text)
        self.assertIn("| gemm_dropout | 1 | 1.200 (1.200) |", text)
        self.assertNotIn("over bound", text)

    def test_of_fused_products_have_a_mean_over_other_libraries_which_is_the_readmes(self):
        cell = {**CELL, "op": "mlp", "tflops": 700.0, "peers_ns": {"triton": 43420.0, "unfused": 40080.0},
                "over_peers": {"triton": 1.3, "unfused": 1.2}, "fastest": "unfused"}
        results = {"fused": {**result("rows"), "part": "fused", "figures": {"versions": {}, "cells": [cell]}}}
        text = " ".join(benchmark_pages.page("fused", results["fused"]).split())
        self.assertIn("geometric mean 1.200 of 1 cells, least 1.200; 1 at 1.000 or above. Without our own unfused "
                      "chain among the peers: geometric mean 1.300 of 1 cells, least 1.300;", text)
        self.assertIn("[fused](docs/benchmarks/fused.md) 1.300 (1; 1.300).", benchmark_pages.readme_table(results))
        self.assertNotIn("Without our own", benchmark_pages.summary([CELL]))

    def test_of_decoding_say_that_triton_is_no_peer(self):
        text = benchmark_pages.page("decode", result("decode"))
        self.assertIn("Triton is no peer here.", " ".join(text.split()))

    def test_of_shares_have_brackets_where_the_ceiling_is_mistaken_and_none_where_a_launch_bounds_the_time(self):
        cells = [CELL | {"implementation": "flat", "shape": shape, "ns": ns, "share_of_ceiling": share}
                 for shape, ns, share in (("1x1", 900.0, 0.5), ("1x2", 1100.0, 1.03), ("1x3", 1100.0, 0.96))]
        for floor, all_of_them in ((None, "half of 2 cells have 73.0 %"), (500.0, "half of 1 cells have 96.0 %")):
            figures = {"versions": {}, "cells": cells} | ({"floor_ns": floor} if floor else {})
            text = benchmark_pages.page("ceilings", result("ceilings") | {"figures": figures})
            self.assertIn(f"All: {all_of_them}", text)
            self.assertIn("| 1x2 | 1.1 | 4.00 | (103.0) |", text)
            self.assertIn("and counts in no sentence above", " ".join(text.split()))
            self.assertEqual("| 1x1 | 0.9 | 4.00 | - |" in text, bool(floor))
            self.assertEqual("an empty launch, 0.5 µs, has no share" in " ".join(text.split()), bool(floor))
        text = benchmark_pages.page("gradients", result("rows") | {"part": "gradients", "figures": figures})
        self.assertIn("| (103.0) |", text)
        self.assertNotIn("no sentence above", text)

    def test_of_norms_after_products_have_the_bound_in_place_of_the_product(self):
        cell = {**CELL, "op": "gemm_add_rmsnorm", "tflops": 700.0, "over_product": 1.09, "product_fit": "exact",
                "over_bound": 1.043}
        text = benchmark_pages.page("fused", {**result("rows"), "part": "fused",
                                              "figures": {"versions": {}, "cells": [cell]}})
        self.assertIn("| 1.200 ±0.010 | 700 | 99.3 | 1.043 |", text)
        self.assertIn("*over bound* is our time", text)
        self.assertNotIn("| over gemm |", text)

    def test_put_no_attribute_that_is_no_or_none_into_the_readmes_table(self):
        self.assertEqual(benchmark_pages.short("gemm[layout=nt,bias=no,act=none]"), "gemm[layout=nt]")
        self.assertEqual(benchmark_pages.short("gemm[bias=no]"), "gemm")
        with written("rows") as (folder, readme):
            changed = result("rows") | {"figures": {"versions": {}, "cells": [CELL | {"op": "softmax[a=no]"}]}}
            (folder / "rows.json").write_text(json.dumps(changed), encoding="utf-8")
            benchmark_pages.write(folder, readme, False)
            text = readme.read_text(encoding="utf-8")
        self.assertIn("| `softmax` | 8192x4096 | 33.4 |", text)
        self.assertIn("The table leaves out attributes", text)

    def test_put_one_variant_of_a_row_op_into_the_readmes_table(self):
        ops = ["add_rmsnorm[store=no]", "add_rmsnorm[store=yes]", "bias_act[act=gelu]", "bias_act[act=gelu_erf]",
               "bias_act[act=gelu,pitch=strided]", "bias_act_dropout[act=gelu]", "swiglu[layout=split]"]
        with written("rows") as (folder, readme):
            changed = result("rows") | {"figures": {"versions": {}, "cells": [CELL | {"op": op} for op in ops]}}
            (folder / "rows.json").write_text(json.dumps(changed), encoding="utf-8")
            benchmark_pages.write(folder, readme, False)
            lines = readme.read_text(encoding="utf-8").splitlines()
        self.assertEqual([line.split("`")[1] for line in lines if line.startswith("| `")],
                         ["add_rmsnorm[store=yes]", "bias_act[act=gelu]", "bias_act[act=gelu,pitch=strided]"])

    def test_put_the_readmes_table_between_its_marks(self):
        with written(*FIGURES) as (folder, readme):
            benchmark_pages.write(folder, readme, False)
            text = readme.read_text(encoding="utf-8")
            self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"))
            self.assertIn("5.0 times as fast", text)
            self.assertNotIn("old", text)
            readme.write_text("no marks", encoding="utf-8")
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(benchmark_pages.write(folder, readme, False), 1)
            self.assertIn("has not the lines", said.getvalue())

    def test_say_what_is_missing_and_where_a_sweep_was_bounded(self):
        with written("tuner", "untuned") as (folder, readme):
            specs = [FIGURES["untuned"]["specs"][0] | {"bounded": True, "asked": 12}]
            (folder / "untuned.json").write_text(json.dumps(result("untuned") | {
                "brief": False, "budget": 60, "missing": ["`tilewright regret gemm` took more than 60 seconds"],
                "figures": {"specs": specs}}))
            (folder / "tuner.json").write_text(json.dumps(result("tuner") | {
                "figures": FIGURES["tuner"] | {"to_a_winner_s": {}}}))
            self.assertEqual(benchmark_pages.write(folder, readme, False), 0)
            untuned = " ".join((folder / "untuned.md").read_text(encoding="utf-8").split())
            tuner = (folder / "tuner.md").read_text(encoding="utf-8")
            self.assertNotIn("Triton's autotuner", readme.read_text(encoding="utf-8"))
        self.assertIn("Missing: `tilewright regret gemm` took more than 60 seconds.", untuned)
        self.assertIn("its winner may not be the fastest", untuned)
        self.assertIn("10 of 12", untuned)
        self.assertIn("`scripts/benchmark untuned --budget 60 --drawn 12` measures it again", untuned)
        self.assertIn("3 of 10 drawn shapes share a dim", untuned)
        self.assertIn("A grid of 20 shapes", tuner)
        self.assertNotIn("| Triton |", tuner)

    def test_of_a_file_that_is_no_result_say_which(self):
        with written("rows") as (folder, readme):
            (folder / "rows.json").write_text('{"part": "rows"}', encoding="utf-8")
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(benchmark_pages.write(folder, readme, False), 1)
            self.assertIn("rows.json is no result", said.getvalue())


class Measuring(unittest.TestCase):
    def bench(self, folder, answer, brief=True, drawn=None, cells=None, only=None):
        """One whose commands are not run but answered; the programs are there."""
        options = argparse.Namespace(program=None, cache=None, commit="c0ffee", brief=brief, timeout=60, budget=None,
                                     drawn=drawn, cells=cells, only=only)
        with mock.patch.object(benchmark, "find", lambda name, _=None: benchmark.Place(f"/opt/{name}", name[4:])):
            bench = benchmark.Bench(options, folder)
        calls = []

        def run(*words, **_):
            calls.append([getattr(word, "shown", word) for word in words])
            bench.commands.append(shlex.join(calls[-1]))
            if "import" in calls[-1]:
                cache(words[-1])
            return answer(calls[-1], words)
        bench.run = run
        return bench, calls

    def test_of_untuned_shapes_keeps_mean_median_percentile_and_worst(self):
        rows = [{"loss": each / 100} for each in range(19)] + [{"loss": 0.5}, {"loss": None, "failure": "wrong"}]
        notes = ["Over 20 of 21 shapes: mean loss 10 %.", "3 of 21 drawn shapes share a dim."]
        with tempfile.TemporaryDirectory() as folder:
            bench, calls = self.bench(folder, lambda words, _: json.dumps({"rows": rows, "notes": notes}))
            made = benchmark.untuned(bench)["specs"]
        self.assertEqual(calls[0][:2], ["tilewright", "import"])
        self.assertIn("--seeded", calls[1])
        self.assertEqual((made[0]["shapes"], made[0]["judged"], made[0]["failed"]), (21, 20, 1))
        self.assertAlmostEqual(made[0]["p95"], 0.18)
        self.assertAlmostEqual(made[0]["worst"], 0.5)
        self.assertEqual(made[0]["notes"], notes[1:])
        self.assertEqual([row["loss"] for row in made[0]["each"]][:3], [0.5, 0.18, 0.17], "the worst first")

    def test_of_attention_name_bad_accuracy_once_for_both_regimes(self):
        with written("attention") as (folder, readme):
            bad = ATTENTION | {"inaccurate": ["o: largest error 0.5, torch's 0.1"]}
            (folder / "attention.json").write_text(json.dumps(result("attention") | {"figures": {
                "versions": {}, "cells": [bad, bad | {"regime": "sustained"}, ATTENTION]}}), encoding="utf-8")
            benchmark_pages.write(folder, readme, False)
            text = (folder / "attention.md").read_text(encoding="utf-8")
        self.assertEqual(text.count("o: largest error 0.5, torch's 0.1"), 1)

    def test_of_attention_are_measured_in_both_regimes_and_its_gradients_in_bursts(self):
        called = []

        def compare(_, part, *words):
            called.append((part, words[words.index("--regime") + 1], words[words.index("--peers") + 1]))

        with tempfile.TemporaryDirectory() as folder, mock.patch.object(benchmark, "compare", compare):
            bench, _ = self.bench(folder, lambda *_: "")
            for part in ("attention", "attention_bwd"):
                benchmark.PARTS[part](bench)
        self.assertEqual(called, [("attention", "burst", "cudnn,flash2,flash4,triton"),
                                  ("attention", "sustained", "cudnn,flash2,flash4,triton"),
                                  ("attention_bwd", "burst", "cudnn,flash2,flash4")])

    def test_of_drawn_products_are_by_one_seed_in_brief_some_of_them(self):
        called = []
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(benchmark, "compare", lambda _, part, *words: called.append((part, words))):
            for brief in (False, True):
                benchmark.PARTS["drawn"](self.bench(folder, lambda *_: "", brief=brief)[0])
        for part, words in called:
            self.assertEqual((part, words[words.index("--off-beaten") + 1]), ("drawn", "61"))
        self.assertEqual([("--only" in words, words[words.index("--sets") + 1]) for _, words in called],
                         [(False, "plain,epilogue"), (True, "plain")])

    def test_of_untuned_shapes_share_the_parts_budget_and_keep_what_was_judged(self):
        answers = iter([json.dumps({"rows": [{"loss": 0.25}, {"loss": None}]}), "", "", ""])
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            bench, calls = self.bench(folder, lambda words, _: next(answers) if words[1] == "regret" else "")
            bench.begin("untuned")
            made = benchmark.untuned(bench)["specs"]
        budgets = [words[words.index("--budget") + 1] for words in calls if "regret" in words]
        self.assertEqual(budgets, ["11s", "15s", "23s", "45s"], "a third of the time of each; nothing was used here")
        self.assertEqual([(each["spec"], each["asked"], each["judged"]) for each in made],
                         [("softmax pitch=dense", 10, 1)])
        self.assertEqual(len(bench.missing), 4)
        self.assertIn("gemm", bench.missing[2])
        self.assertEqual(bench.missing[3], "9 of 10 shapes of `softmax pitch=dense` served exported were not judged")

    def test_of_untuned_shapes_leave_as_much_time_to_each_way_of_serving(self):
        with tempfile.TemporaryDirectory() as folder:
            bench, calls = self.bench(folder, lambda *_: json.dumps({"rows": [{"loss": 0.25}]}), brief=False, drawn=1,
                                      only="^softmax pitch")
            bench.options.budget = 200
            bench.begin("untuned")
            with contextlib.redirect_stderr(io.StringIO()):
                benchmark.untuned(bench)
        budgets = [words[words.index("--budget") + 1] for words in calls if "regret" in words]
        self.assertEqual(budgets, ["35s", "70s"], "a third of half of it, then of what is left: here all")

    def test_of_a_part_that_sweeps_write_into_a_copy_of_its_own(self):
        def sweep(words, real):
            if "sweep" in words:
                with contextlib.closing(sqlite3.connect(real[real.index("--cache") + 1])) as swept:
                    swept.execute("CREATE TABLE IF NOT EXISTS more (b)")
            return ""
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(benchmark, "find", lambda name, _=None: benchmark.Place(name, name)):
            named = f"{folder}/named.db"
            cache(named)
            before = pathlib.Path(named).read_bytes()
            bench, calls = self.bench(folder, sweep)
            bench.cache = named
            for part in ("ceilings", "gradients", "fused", "varlen"):
                bench.begin(part)
                with self.assertRaisesRegex(benchmark.Failed, "measured no cell"), \
                        mock.patch.object(benchmark, "CEILINGS", "add"), \
                        mock.patch.object(benchmark, "GRADIENTS", "rope"), \
                        mock.patch.object(benchmark, "BRIEF_FUSED", "^gemm_add_rmsnorm.*8192x4096x4096$"), \
                        mock.patch.object(benchmark, "BRIEF_GRADIENTS", ""), \
                        mock.patch.object(benchmark, "BRIEF_ROWS", ""), \
                        mock.patch.object(benchmark, "BRIEF_ROW_SHAPES", "8192x4096"):
                    benchmark.PARTS[part](bench)
            self.assertGreaterEqual(sum("sweep" in words for words in calls), 4)
            self.assertEqual(pathlib.Path(named).read_bytes(), before)

    def test_of_shares_are_with_the_time_of_an_empty_launch(self):
        with mock.patch.object(benchmark, "tune_copies"), tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(benchmark, "compare", lambda *_: {"a": 1}):
            for part in ("ceilings", "gradients"):
                for floor, more in ((510.0, {"floor_ns": 510.0}), (None, {})):
                    with mock.patch.object(benchmark.library, "launch_floor", lambda _, floor=floor: floor):
                        self.assertEqual(benchmark.PARTS[part](self.bench(folder, lambda *_: "")[0]), {"a": 1} | more)

    def test_of_a_bundle_are_served_from_what_it_installs(self):
        with tempfile.TemporaryDirectory() as folder:
            bench, calls = self.bench(folder, lambda *_: "")
            cache(f"{folder}/installed.db")
            with mock.patch.object(benchmark, "INSTALLED", pathlib.Path(folder, "installed.db")):
                self.assertEqual(bench.winners().shown, "winners.db")
            self.assertEqual(calls, [])
            with mock.patch.object(benchmark, "ROOT", pathlib.Path(folder)), \
                    self.assertRaisesRegex(benchmark.Failed, "name a cache by --cache"):
                self.bench(folder, lambda *_: "")[0].winners()

    def test_of_untuned_shapes_judge_both_ways_of_serving_by_the_same_sweeps(self):
        with tempfile.TemporaryDirectory() as folder:
            bench, calls = self.bench(folder, lambda *_: json.dumps({"rows": [{"loss": 0.25}]}), brief=False, drawn=16)
            made = benchmark.untuned(bench)["specs"]
        softmax = [words for words in calls if words[1:3] == ["regret", "softmax"]]
        self.assertEqual([words[words.index("--into") + 1] for words in softmax], ["judged-softmax.db"] * 2)
        self.assertEqual([(each["served"], each["asked"]) for each in made[:2]], [("exported", 16), ("jit", 16)])

    def test_of_untuned_shapes_go_on_from_the_specs_that_a_folder_has(self):
        with tempfile.TemporaryDirectory() as folder:
            for asked in (2, 0):
                bench, calls = self.bench(folder, lambda *_: json.dumps({"rows": [{"loss": 0.25}]}), brief=False,
                                          cells=folder, only="^rope")
                made = benchmark.untuned(bench)["specs"]
                self.assertEqual([each["spec"] for each in made], ["rope style=halved norm=no"] * 2)
                self.assertEqual(sum("regret" in words for words in calls), asked)
                # The page shows the program that measured it.
                self.assertEqual(sum("regret" in command for command in bench.commands), 2)
            bench.options.commit = "another"
            benchmark.untuned(bench)
            self.assertEqual(sum("regret" in words for words in calls), 2)

    def test_of_untuned_shapes_take_the_place_of_older_ones_with_their_commit(self):
        def kept(spec, judged):
            return json.dumps({"commit": "fedcba9876543210", "command": f"tilewright regret {spec}", "figures":
                               FIGURES["untuned"]["specs"][0] | {"spec": spec, "judged": judged}})

        with written("untuned") as (folder, readme):
            page = folder / "untuned.json"
            old = FIGURES["untuned"]["specs"][0]
            missing = "8 of 10 shapes of `softmax` served exported were not judged"
            page.write_text(json.dumps(result("untuned") | {"missing": [missing], "figures": {"specs": [
                old, old | {"spec": "gemm"}, old | {"served": "jit"}]}}), encoding="utf-8")
            cells = folder / "cells" / "NVIDIA-H200-580.1" / "untuned"
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(benchmark.main(["report", "--out", str(folder), "--cells", str(folder)]), 1)
            self.assertIn("has no losses to take", said.getvalue())
            cells.mkdir(parents=True)
            (cells / "softmax-exported.json").write_text(kept("softmax", 6), encoding="utf-8")
            (cells / "gemm-exported.json").write_text(kept("gemm", 5), encoding="utf-8")
            (cells / "rope-exported.json").write_text(kept("rope", 10), encoding="utf-8")
            (cells / "embedding-exported.json").write_text(kept("embedding", 10), encoding="utf-8")
            benchmark.take_judged(folder, folder / "cells")
            made = json.loads(page.read_text(encoding="utf-8"))
            benchmark_pages.write(folder, readme, False)
            text = (folder / "untuned.md").read_text(encoding="utf-8")
        self.assertEqual([(each["spec"], each["mean"]) for each in made["figures"]["specs"]],
                         [("softmax", 0.01), ("gemm", 0.007), ("softmax", 0.007), ("embedding", 0.01)],
                         "rope has other attributes in the part")
        self.assertEqual(made["commands"], ["tilewright x", "tilewright regret softmax", "tilewright regret embedding"])
        self.assertEqual(made["missing"], ["4 of 10 shapes of `softmax` served exported were not judged"])
        self.assertIn("| `softmax` | exported | 6 of 10 | 1.0 | 0.0 | 6.0 | 6.0 | 0 | `fedcba98` |", text)
        self.assertIn("| `gemm` | exported | 10 | 0.7 | 0.0 | 4.0 | 6.0 | 0 | - |", text)

    def test_of_untuned_shapes_are_of_the_commit_that_every_spec_is_of(self):
        with written("untuned") as (folder, _), \
                mock.patch.object(benchmark, "UNTUNED", [["softmax", "pitch=dense"], ["rope"]]):
            cells = folder / "cells" / "NVIDIA-H200-580.1" / "untuned"
            cells.mkdir(parents=True)
            for served, mean in (("exported", 0.5), ("jit", 0.25)):
                for spec in ("softmax pitch=dense", "rope"):
                    each = [{"loss": 2 * mean}, {"loss": -0.5}]  # what is faster than the winner loses nothing
                    figures = FIGURES["untuned"]["specs"][0] | {"spec": spec, "served": served, "each": each}
                    (cells / f"{spec[:4]}-{served}.json").write_text(json.dumps({
                        "commit": "fedcba9876543210", "date": "2026-03-04", "cores": 32, "asked": 10, "seconds": 2.5,
                        "command": f"tilewright regret {spec} --{served}", "figures": figures}), encoding="utf-8")
            benchmark.take_judged(folder, folder / "cells")
            made = json.loads((folder / "untuned.json").read_text(encoding="utf-8"))
        self.assertEqual({name: made[name] for name in ("commit", "date", "cores", "seconds", "brief", "missing")},
                         {"commit": "fedcba9876543210", "date": "2026-03-04", "cores": 32, "seconds": 10,
                          "brief": False, "missing": []})
        self.assertEqual([(each["spec"], each["mean"]) for each in made["figures"]["specs"]],
                         [("softmax pitch=dense", 0.5), ("softmax pitch=dense", 0.25), ("rope", 0.5), ("rope", 0.25)])
        self.assertEqual(len(made["commands"]), 4)

    def test_of_cells_take_the_places_of_older_ones_with_their_commit(self):
        with written("rows") as (folder, readme):
            page, part = folder / "rows.json", folder / "part.json"
            new = result("rows") | {"commit": "fedcba9876543210", "commands": ["compare_peers.py --only x"]}
            cells = [CELL | {"ns": 30000.0}, CELL | {"op": "rmsnorm"}]
            part.write_text(json.dumps(new | {"figures": {"versions": {"torch": "2.11"}, "cells": cells}}),
                            encoding="utf-8")
            benchmark.take_cells(folder, part)
            benchmark_pages.write(folder, readme, False)
            made = json.loads(page.read_text(encoding="utf-8"))
            text = (folder / "rows.md").read_text(encoding="utf-8")
            for other, why in (({"driver": "999"}, "its driver: 999; rows.json has"),
                               ({"figures": {"versions": {"torch": "9"}, "cells": cells}}, "its versions"),
                               ({"part": "varlen"}, "No such file")):
                part.write_text(json.dumps(new | other), encoding="utf-8")
                with contextlib.redirect_stderr(io.StringIO()) as said:
                    self.assertEqual(benchmark.main(["report", "--out", str(folder), "--take", str(part)]), 1)
                self.assertIn(why, said.getvalue())
        self.assertEqual([(cell["op"], cell["shape"], cell["ns"], cell.get("commit"))
                          for cell in made["figures"]["cells"]],
                         [("softmax", "8192x4096", 30000.0, "fedcba9876543210"),
                          ("softmax", "4093x1000", 33400.0, None),
                          ("rmsnorm", "8192x4096", 33400.0, "fedcba9876543210")])
        self.assertEqual(made["commands"], ["tilewright x", "compare_peers.py --only x"])
        self.assertIn("Of commit `fedcba98`: `softmax` bf16 8192x4096; `rmsnorm` bf16 8192x4096.",
                      " ".join(text.split()))

    def test_of_cells_that_are_asked_for_say_that_others_are_missing(self):
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(benchmark, "describe_gpu", lambda: {"device": "GPU", "driver": "1"}), \
                mock.patch.object(benchmark, "find", lambda name, _=None: name), \
                mock.patch.dict(benchmark.PARTS, {"rows": lambda bench: {"only": benchmark.only_words(
                    bench, benchmark.only_cells(bench, benchmark.BRIEF_ROWS), "--shapes", "8x8")}}):
            for words, asked in (([], []), (["--only", "^softmax"], ["--only", "^softmax"]),
                                 (["--brief"], ["--only", benchmark.BRIEF_ROWS, "--shapes", "8x8", *benchmark.BRIEF])):
                with contextlib.redirect_stderr(io.StringIO()):
                    self.assertEqual(benchmark.main(["rows", "--out", folder, "--commit", "c0ffee", *words]), 0)
                made = json.loads((pathlib.Path(folder) / "rows.json").read_text(encoding="utf-8"))
                self.assertEqual(made["figures"]["only"], asked)
                self.assertEqual(made["missing"], ["what --only ^softmax leaves out"] * ("--only" in words))

    def test_of_cells_are_of_this_commit_and_of_what_is_asked_for_alone(self):
        first, second = "softmax-bf16-8192x4096", "softmax-bf16-16x4096"
        cells = [{"cell": first, "commit": "c0ffee", "seconds": 2.5}, {"cell": second, "commit": "another"},
                 {"cell": "softmax-f32-7x5", "commit": "c0ffee", "seconds": 9},
                 {"cell": "gemm-layout=nt-bf16-1x4096x4096", "commit": "c0ffee", "regime": "sustained"}]
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(benchmark, "find", lambda name, _=None: benchmark.Place(name, name)), \
                mock.patch.object(benchmark.report, "load", lambda _: cells), \
                mock.patch.object(benchmark.record, "figures", lambda results: [each["cell"] for each in results]):
            (pathlib.Path(folder) / "rows").mkdir()
            bench, _ = self.bench(folder, lambda *_: "", cells=folder)
            bench.begin("rows")
            self.assertEqual(benchmark.compare(bench, "rows", "--op", "softmax"), [first])
            self.assertEqual(bench.kept_seconds, 2.5)
            with self.assertRaisesRegex(benchmark.Failed, "measured no cell"):
                bench.begin("rows")
                benchmark.compare(bench, "rows", "--op", "gemm")

    def test_of_gradients_are_without_the_rarer_attributes_in_brief(self):
        brief = benchmark.cells_of.make_cells(["bf16"], None, benchmark.BRIEF_GRADIENTS, benchmark.GRADIENTS.split(","))
        self.assertEqual(len(brief), 10)
        self.assertNotIn("add=yes", " ".join(cell.name for cell in brief))

    def test_of_gradients_sweep_the_copies_of_their_cells_before(self):
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(benchmark, "find", lambda name, _=None: benchmark.Place(name, name)):
            bench, calls = self.bench(folder, lambda *_: "")
            bench.commands = ["compare_peers.py"]
            with self.assertRaisesRegex(benchmark.Failed, "measured no cell"):
                benchmark.gradients(bench)
        swept = {words[4]: words[words.index("--shapes") + 1] for words in calls if words[1:3] == ["sweep", "copy"]}
        self.assertIn("33554432", swept["reads=2"], "softmax_bwd of 8192x4096")
        sizes = [int(each) for each in swept["reads=1"].removeprefix("n=").split(",")]
        self.assertTrue(all(b > 1.02 * a for a, b in zip(sizes, sizes[1:])), "one serves all that are near it")
        self.assertIn("scripts/compare_peers.py", calls[-1])

    def test_of_fused_products_sweep_the_products_that_they_are_compared_with(self):
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(benchmark, "find", lambda name, _=None: benchmark.Place(name, name)):
            bench, calls = self.bench(folder, lambda *_: "")
            bench.commands = ["compare_peers.py"]
            with self.assertRaisesRegex(benchmark.Failed, "measured no cell"):
                benchmark.fused(bench)
        swept = {" ".join([words[2], *words[4:words.index("--shapes")]]): words for words in calls
                 if words[1:2] == ["sweep"]}
        self.assertEqual(set(swept), {"gemm", "gemm bias=yes act=gelu", "gemm bias=yes act=gelu residual=yes",
                                      "gemm residual=yes", "dropout", "add", "swiglu layout=packed", "rmsnorm",
                                      "layernorm", "copy reads=1"})
        self.assertIn("m=8192 n=4096 k=4096", swept["gemm residual=yes"], "norms add one")
        self.assertIn("rows=8192 cols=4096", swept["rmsnorm"])
        self.assertIn("m=512 n=28672 k=4096", swept["gemm"], "gate and up at once")

    def test_of_fused_products_sweep_the_copies_that_few_rows_are_held_to(self):
        copies = []
        with mock.patch.object(benchmark, "compare"), mock.patch.object(benchmark, "tune_products"), \
                mock.patch.object(benchmark, "tune_copies", lambda _, cells: copies.extend(cells)), \
                tempfile.TemporaryDirectory() as folder:
            benchmark.fused(self.bench(folder, lambda *_: "", brief=False)[0])
        self.assertEqual({(cell.op, cell.dims[0]) for cell in copies if cell.reads == 3},
                         {(op, rows) for op in ("gemm_gated", "mlp") for rows in (1, 16)})
        self.assertEqual({cell.copied for cell in copies if cell.reads == 1},
                         {512 * 4096, 8192 * 640, 8192 * 2048, 8192 * 4096}, "what norms write")

    def test_that_a_script_writes_itself_are_kept_as_they_are(self):
        for part in ("decode", "deterministic", "varlen"):
            def answer(words, real, part=part):
                if f"compare_{part}.py" in words[0]:
                    pathlib.Path(real[real.index("--json") + 1]).write_text(json.dumps({"figures": FIGURES[part]}))
                return ""
            with tempfile.TemporaryDirectory() as folder, \
                    mock.patch.object(benchmark, "find", lambda name, _=None: benchmark.Place(name, name)):
                bench, calls = self.bench(folder, answer)
                self.assertEqual(benchmark.PARTS[part](bench), FIGURES[part])
                self.assertEqual("--draws 4" in " ".join(map(str, calls[-1])), part == "decode")
            with tempfile.TemporaryDirectory() as folder, \
                    mock.patch.object(benchmark, "find", lambda name, _=None: benchmark.Place(name, name)):
                bench, _ = self.bench(folder, lambda *_: "")
                with self.assertRaisesRegex(benchmark.Failed, f"compare_{part}.py measured no cell"):
                    benchmark.PARTS[part](bench)

    def test_of_packed_sequences_sweep_the_equal_ones_before(self):
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(benchmark, "find", lambda name, _=None: benchmark.Place(name, name)):
            bench, calls = self.bench(folder, lambda *_: "")
            with contextlib.suppress(benchmark.Failed):
                benchmark.varlen(bench)
        swept, measured = calls[-2:]
        self.assertEqual([word.split("[")[0] for word in swept[2:6]], ["attention"] * 4)
        self.assertIn("scripts/compare_varlen.py", measured)

    def test_of_the_service_needs_no_gpu(self):
        def answer(bench):
            return FIGURES["service"]
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(benchmark, "PARTS", {"service": answer}), \
                mock.patch.object(benchmark, "find", lambda *_: benchmark.Place("/x", "tilewright")), \
                contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(benchmark.main(["service", "--out", folder, "--commit", "c0ffee"]), 0)
            made = json.loads((pathlib.Path(folder) / "service.json").read_text(encoding="utf-8"))
        text = benchmark_pages.page("service", made)
        self.assertIn("| untuned shapes, no two the same | 500 | 500 | 0.7 ms | 1.4 ms |", text)
        self.assertNotIn("driver", text)

    def test_of_the_tuner_keeps_the_race_where_the_grid_did_not_end(self):
        def answer(words, real):
            if "compare_tuners.py" in words[0]:
                turn = [{"seconds": 2.0, "configs": 6}]
                pathlib.Path(real[real.index("--out") + 1]).write_text(json.dumps(
                    {"softmax": {"triton": turn, "tilewright": turn, "whole": []},
                     "gemm": {"triton": turn, "tilewright": [], "whole": []}}))
            return ""
        with tempfile.TemporaryDirectory() as folder:
            bench, calls = self.bench(folder, answer)
            bench.begin("tuner")
            made = benchmark.tuner(bench)
        self.assertEqual(list(made["to_a_winner_s"]), ["softmax"])
        self.assertIsNone(made["grid"])
        self.assertIn("--budget", calls[0])
        with tempfile.TemporaryDirectory() as folder:
            bench, _ = self.bench(folder, lambda *_: "")
            with self.assertRaisesRegex(benchmark.Failed, "no turn and no grid"):
                benchmark.tuner(bench)

    def test_keeps_what_an_interrupted_command_printed(self):
        options = argparse.Namespace(program=None, cache=None, brief=False, timeout=60, budget=1)
        script = "trap 'echo partly; exit 3' INT; sleep 30 & wait"
        with mock.patch.object(benchmark, "find", lambda *_: benchmark.Place("/bin/sh", "sh")), \
                contextlib.redirect_stderr(io.StringIO()):
            bench = benchmark.Bench(options, "/somewhere")
            self.assertEqual(bench.run("sh", "-c", script, keep=True), "partly\n")
            self.assertIn("took more than 1 seconds", bench.missing[0])
            self.assertEqual(bench.run("sh", "-c", "echo all; exit 1", keep=True), "all\n")
            self.assertIn("ended with 1", bench.missing[1])

    def test_interrupted_keeps_what_was_printed_and_starts_nothing_more(self):
        options = argparse.Namespace(program=None, cache=None, brief=False, timeout=60, budget=None)
        # The command stops its parent once that waits, as a terminal or a batch system would.
        script = f"trap 'echo partly; exit 3' INT; sleep 0.5; kill -INT {os.getpid()}; sleep 30 & wait"
        with mock.patch.object(benchmark, "find", lambda *_: benchmark.Place("/bin/sh", "sh")), \
                contextlib.redirect_stderr(io.StringIO()):
            bench = benchmark.Bench(options, "/somewhere")
            self.assertEqual(bench.run("sh", "-c", script, keep=True), "partly\n")
            self.assertIn("was interrupted", bench.missing[0])
            self.assertEqual(bench.run("sh", "-c", "echo more", keep=True), "")
            self.assertIn("was not started", bench.missing[1])
            with self.assertRaisesRegex(benchmark.Failed, "was not started: interrupted"):
                bench.run("sh", "-c", "echo more")
            self.assertEqual(len(bench.commands), 1)

    def test_interrupted_writes_the_part_under_way_and_names_those_behind_it(self):
        def stopped(bench):
            bench.interrupted = True
            return FIGURES["rows"]
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(benchmark, "PARTS", {"rows": stopped, "gemm": stopped}), \
                mock.patch.object(benchmark, "describe_gpu", lambda: {"device": "GPU", "driver": "1"}), \
                mock.patch.object(benchmark, "find", lambda *_: benchmark.Place("/x", "tilewright")), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(benchmark.main(["rows", "gemm", "--out", folder, "--commit", "c0ffee"]), 1)
            self.assertEqual([path.name for path in pathlib.Path(folder).glob("*.json")], ["rows.json"])
        self.assertIn("no figures of gemm", said.getvalue())

    def test_on_several_gpus_run_beside_each_other_and_those_that_time_the_host_alone(self):
        # Notes when it began and ended, and where; `decode` fails.
        stub = """
import os, pathlib, sys, time
part, words = sys.argv[1], dict(word.split("=", 1) for word in sys.argv[2:] if "=" in word)
began = time.monotonic()
assert pathlib.Path(words["--cache"]).read_bytes().startswith(b"SQLite format 3"), words
assert "--brief" in sys.argv and words["--commit"] == "abc", sys.argv
time.sleep(0.5)
(pathlib.Path(words["--out"]) / part).write_text(f"{began} {time.monotonic()} {os.environ['CUDA_VISIBLE_DEVICES']}")
sys.exit(part == "decode")
"""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "stub.py").write_text(stub, encoding="utf-8")
            (folder / "tilewright").write_text("", encoding="utf-8")
            cache(folder / "c.db")
            options = benchmark.parse(["launch", "rows", "gemm", "decode", "--gpus", "2", "--brief", "--out", name,
                                       "--cache", str(folder / "c.db"), "--program", str(folder / "tilewright"),
                                       "--commit", "abc"])
            with mock.patch.object(benchmark, "SELF", folder / "stub.py"), \
                    mock.patch.dict(os.environ, {"CUDA_VISIBLE_DEVICES": "3,5,7"}), \
                    contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(benchmark.deal(options), 1)
            made = {part: (folder / part).read_text(encoding="utf-8").split() for part in options.parts}
        self.assertIn("no figures of decode;", said.getvalue())
        self.assertEqual({made["rows"][2], made["gemm"][2]}, {"3", "5"})
        self.assertLess(float(made["gemm"][0]), float(made["rows"][1]), "beside each other")
        self.assertGreater(float(made["launch"][0]), max(float(made[part][1]) for part in ("rows", "gemm", "decode")))

    def test_of_cells_go_on_from_a_folder_of_their_own(self):
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(benchmark, "find", lambda name, _=None: benchmark.Place(name, name)):
            bench, calls = self.bench(folder, lambda *_: "")
            bench.options.cells = f"{folder}/kept"
            bench.begin("rows", "GPU-580")
            self.assertEqual(bench.kept("rows"), pathlib.Path(f"{folder}/kept/GPU-580/rows"))
            with self.assertRaisesRegex(benchmark.Failed, "measured no cell"):
                benchmark.rows(bench)
            self.assertEqual(calls[-1][-1], "", "--resume is no part of the method")
            self.assertEqual(calls[-1][calls[-1].index("--out") + 1], "rows", "the page names no folder of a machine")

    def test_of_a_launch_fails_where_the_benchmark_did(self):
        failed = {"benchmarks": [{"name": "whole", "run_type": "iteration", "error_occurred": True,
                                  "error_message": "there is no GPU"}]}
        with tempfile.TemporaryDirectory() as folder:
            bench, _ = self.bench(folder, lambda *_: json.dumps(failed))
            bench.commands = ["launch_gpu_benchmark"]
            with mock.patch.object(benchmark, "find", lambda name, _=None: benchmark.Place(name, name)):
                with self.assertRaisesRegex(benchmark.Failed, "there is no GPU"):
                    benchmark.launch(bench)

    def test_writes_what_succeeded_and_names_what_failed(self):
        def good(bench):
            bench.commands.append("tilewright x")
            return FIGURES["launch"]

        def bad(_):
            raise benchmark.Failed("no torch")
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(benchmark, "PARTS", {"launch": good, "rows": bad}), \
                mock.patch.object(benchmark, "describe_gpu", lambda: {"device": "H", "driver": "1"}), \
                mock.patch.object(benchmark, "find", lambda *_: benchmark.Place("/x", "tilewright")), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(benchmark.main(["all", "--out", folder, "--commit", "c0ffee"]), 1)
            made = json.loads((pathlib.Path(folder) / "launch.json").read_text(encoding="utf-8"))
            self.assertFalse((pathlib.Path(folder) / "rows.json").exists())
        self.assertIn("no figures of rows", said.getvalue())
        self.assertEqual([name for name in benchmark_pages.FACTS if name not in made], [])
        self.assertEqual(made["commands"], ["tilewright x"])

    def test_shows_no_path_of_the_machine_in_a_command(self):
        options = argparse.Namespace(program=None, cache=None, brief=True, timeout=60, budget=None)
        with mock.patch.object(benchmark, "find", lambda *_: benchmark.Place("/bin/echo", "tilewright")), \
                contextlib.redirect_stderr(io.StringIO()):
            bench = benchmark.Bench(options, "/somewhere")
            self.assertEqual(bench.run(bench.program, "--out", bench.out("a.json")), "--out /somewhere/a.json\n")
        self.assertEqual(bench.commands, ["tilewright --out a.json"])

    def test_tells_of_a_command_that_fails_or_takes_too_long(self):
        options = argparse.Namespace(program=None, cache=None, brief=True, timeout=1, budget=None)
        with mock.patch.object(benchmark, "find", lambda *_: benchmark.Place("/bin/false", "tilewright")), \
                contextlib.redirect_stderr(io.StringIO()):
            bench = benchmark.Bench(options, "/somewhere")
            with self.assertRaisesRegex(benchmark.Failed, "`tilewright x` ended with 1"):
                bench.run(bench.program, "x")
            with self.assertRaisesRegex(benchmark.Failed, "took more than 1 seconds"):
                bench.run("sleep", "5")


if __name__ == "__main__":
    unittest.main()
