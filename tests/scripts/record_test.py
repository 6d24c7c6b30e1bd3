# SPDX-License-Identifier: Apache-2.0
"""What compare_peers.py, compare_decode.py and compare_varlen.py write with --json, of which a page is made."""
import contextlib
import io
import json
import pathlib
import tempfile
import unittest

from attention_report_test import arm, result

import compare_decode
import compare_peers
from peers import attention_bwd_cells, attention_cells, fused_cells, gemm_cells, record

FACTS = {"driver": "580.1", "cores": 16, "torch": "2.11", "cuda": "13.0", "seconds": 2.0,
         "command": "scripts/compare_peers.py --op attention"}


def results(cells, **more):
    return [result(cell) | FACTS | {"measured_at": 1780000000 + i} | more for i, cell in enumerate(cells)]


def decode_result(name, **arms):
    cell = compare_decode.Cell.of(name)
    return FACTS | {
        "cell": name, "op": cell.op, "kind": cell.kind, "batch": cell.b, "heads": f"{cell.hq}/{cell.hkv}",
        "tokens": cell.s, "page": cell.page, "bytes": 4000000, "served": "cluster{keys=16}", "fit": "exact",
        "skipped": {}, "errors": {"tilewright": 1e-3, **dict.fromkeys(arms, 1.25e-3)}, "commit": "c", "gpu": "H200",
        "arms": {"tilewright": arm(1000.0, 1000.0), **{each: arm(ns, 1000.0) for each, ns in arms.items()}}}


class Record(unittest.TestCase):
    def test_has_the_facts_and_the_figures_of_each_cell(self):
        cells = attention_cells.make_cells(sets=["main"])
        made = record.make(results(cells))
        self.assertEqual((made["part"], made["commit"], made["device"], made["driver"], made["date"], made["seconds"]),
                         ("attention", "c", "H200", "580.1", "2026-05-28", 2 * len(cells)))
        self.assertEqual(made["commands"], ["scripts/compare_peers.py --op attention"])
        one = made["figures"]["cells"][0]
        self.assertEqual((one["mask"], one["d"], one["sequences"], one["heads"]), ("none", "64", "8×1024", "16/16"))
        self.assertEqual((one["fastest"], one["over_peers"]["cudnn"], one["implementation"]), ("flash4", 1.1, "wgmma"))
        self.assertEqual(one["errors_over_best"], {"rms": 1.0, "largest": 1.0})
        self.assertEqual(one["errors_of"], ["cudnn", "flash2"])

    def test_of_products_has_the_share_of_a_ceiling_where_one_was_timed(self):
        made, = results(fused_cells.BY_OP["mlp"].make_cells(only="-1x4096"))
        self.assertNotIn("share_of_ceiling", record.cell_figures(made))
        made["ceiling"] = {"tuned": True}
        made["arms"]["ceiling"] = arm(950.0, made["arms"]["tilewright"]["median"])
        self.assertEqual(record.cell_figures(made)["share_of_ceiling"],
                         made["arms"]["ceiling"]["over_tilewright"]["median"])
        self.assertNotIn("ceiling", record.cell_figures(made)["peers_ns"])

    def test_of_norms_after_products_has_the_time_over_their_bound_where_a_tuned_copy_was_timed(self):
        made, = results(fused_cells.BY_OP["gemm_add_rmsnorm"].make_cells(only="-512x"))
        ours = made["arms"]["tilewright"]["median"]
        made["arms"] |= {"product": arm(0.9 * ours, ours), "copy": arm(0.1 * ours, ours)}
        for tuned in (True, False):
            made["copy"] = {"tuned": tuned}
            self.assertEqual("over_bound" in record.cell_figures(made), tuned)
        made["copy"] = {"tuned": True}
        self.assertAlmostEqual(record.cell_figures(made)["over_bound"], 1 / (0.9 + 0.1 / 2))

    def test_is_of_one_page_one_commit_and_one_device(self):
        cells = attention_cells.make_cells(sets=["main"])[:2]
        for wrong, name in (([*results(cells[:1]), *results(cells[1:], commit="d")], "several commits"),
                            ([*results(cells[:1]), *results(cells[1:], gpu="H100")], "several gpus"),
                            (results([cells[0], attention_bwd_cells.make_cells()[0]]), "several pages")):
            with self.assertRaisesRegex(ValueError, name):
                record.make(wrong)

    def test_of_drawn_products_is_of_a_page_of_its_own(self):
        for cells, part in ((gemm_cells.drawn_cells(61)[:2], "drawn"), (gemm_cells.make_cells()[:2], "gemm")):
            self.assertEqual(record.make(results(cells))["part"], part)

    def test_of_decode_tells_the_fastest_peer_and_the_error_beside_the_best(self):
        made = record.make([decode_result("full-b1-h32x8-s512", cudnn=1300.0, flash2=1200.0),
                            decode_result("uniform-b64-h32x8-s8192-p16"),
                            decode_result("long-b64-h32x8-s32768", flash4=2500.0, flashinfer=1100.0)])
        first, second, third = made["figures"]["cells"]
        self.assertEqual(made["part"], "decode")
        self.assertEqual((first["fastest"], first["over_fastest"][0], first["error_over_best"]), ("flash2", 1.2, 0.8))
        self.assertEqual((second["fastest"], second["page"], second["error_over_best"]), (None, 16, None))
        self.assertEqual((third["fastest"], list(third["peers_ns"])), ("flashinfer", ["flash4", "flashinfer"]))

    def test_of_decode_has_no_peer_that_computes_something_else(self):
        result = decode_result("full-b1-h32x8-s512", cudnn=1300.0, flash2=800.0)
        for error in (0.2, float("nan")):
            result["errors"]["flash2"] = error
            cell = record.decode_figures(result)
            self.assertEqual((cell["fastest"], list(cell["peers_ns"])), ("cudnn", ["cudnn"]))
            self.assertEqual(cell["error_over_best"], 0.8)
            self.assertIn("another one", cell["no_verdict"]["flash2"])

    def test_of_decode_takes_no_output_that_is_far_off_in_some_sequence(self):
        self.assertEqual(compare_decode.checked([1e-3, 2e-3]), 2e-3)
        for errors in ([1e-3, float("nan")], [0.02, 1e-3]):
            with self.assertRaisesRegex(RuntimeError, "another one"):
                compare_decode.checked(errors)

    def test_of_packed_sequences_has_both_rates_and_what_served_each(self):
        both = {"varlen": 404.0, "dense": 400.0}
        made = record.make([FACTS | {
            "cell": "d64-s1024-causal", "op": "attention_varlen", "d": 64, "most": 1024, "causal": "yes",
            "tokens": both, "ns": both, "tflops": both, "error": 0.002,
            "served": {"varlen": "wgmma{stages=2}", "dense": "mma{}"},
            "fit": {"varlen": "exact", "dense": "nearest"}, "commit": "c", "gpu": "H200"}])
        cell = made["figures"]["cells"][0]
        self.assertEqual((made["part"], cell["tflops"], cell["implementation"]), ("varlen", both, "wgmma"))
        self.assertEqual(cell["fit"], {"varlen": "exact", "dense": "nearest"})

    def test_of_deterministic_gradients_stands_apart_from_that_of_the_gradients(self):
        made = record.make([FACTS | {
            "cell": "d64-b8-s1024-causal", "op": "attention_bwd", "part": "deterministic", "d": 64, "b": 8, "s": 1024,
            "causal": "yes", "ns": {"yes": 2.0, "no": 1.0}, "ratio": 2.0, "same": True, "apart": 0.0,
            "served": {"yes": "wgmma{}", "no": "mma{}"}, "fit": {"yes": "exact", "no": "exact"}, "commit": "c",
            "gpu": "H200"}])
        cell = made["figures"]["cells"][0]
        self.assertEqual((made["part"], cell["ratio"], cell["same"]), ("deterministic", 2.0, True))

    def test_shows_a_command_without_paths_of_the_machine(self):
        self.assertEqual(record.shown("/opt/scripts/compare_peers.py", [
            "--cache", "/tmp/x/winners.db", "--commit", "abc", "--json", "/tmp/out.json", "--only", "d64"]),
            "scripts/compare_peers.py --cache winners.db --only d64")


class CommandLine(unittest.TestCase):
    def test_makes_a_record_of_the_results_of_a_folder_for_the_ops_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            for each in results([attention_cells.make_cells()[0], attention_bwd_cells.make_cells()[0]]):
                pathlib.Path(folder, f"{each['cell']}.json").write_text(json.dumps(each), encoding="utf-8")
            path = pathlib.Path(folder, "made", "attention.json")
            path.parent.mkdir()
            words = ["--report", folder, "--json", str(path)]
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(compare_peers.main(words), 1)
                self.assertIn("choose one by --op", said.getvalue())
                self.assertEqual(compare_peers.main([*words, "--op", "attention"]), 0)
            self.assertEqual(len(json.loads(path.read_text(encoding="utf-8"))["figures"]["cells"]), 1)


if __name__ == "__main__":
    unittest.main()
