# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import tempfile
import unittest

from peers import gemm_cells, gemm_report, report, verdicts


def arm(median, ratio):
    return {"median": median, "low": median, "high": median,
            "over_tilewright": {"median": ratio, "low": ratio - 0.01, "high": ratio + 0.01}}


def result(dims=(4096, 4096, 4096), ratios=None, dtype="bf16", regime="burst", changed=None, **more):
    cell = gemm_cells.GemmCell(tuple({**gemm_cells.DEFAULTS, **(changed or {})}.items()), dtype, *dims)
    ratios = ratios or {"eager": 1.1, "triton": 1.4}
    arms = {name: arm(2000 * ratio, ratio) for name, ratio in ratios.items()}
    arms["tilewright"] = arm(2000, 1.0)
    errors = {"rms": 1e-3, "largest": 0.01, "largest_ulp": 0.6, "ulp_there": 0.004, "wrong": 0}
    base = {"cell": cell.name, "op": "gemm", "attributes": dict(cell.attributes), "dtype": dtype, **cell.facts(),
            "regime": regime,
            "commit": "abc", "gpu": "H999", "arms": arms, "skipped": {},
            "served": {"fit": "exact", "config": "wgmma{block_m=128}"},
            "device": {"sm_mhz": {"median": 1755.0}, "watts": {"median": 612.4}},
            "accuracy": {"ours": {"c": dict(errors)}, "eager": {"c": dict(errors)}, "far": 0}}
    return {**base, **more}


def goal(results, words):
    return next((each for each in gemm_report.summarise(results)["goals"] if words in each["goal"]), None)


GELU = {"bias": "yes", "act": "gelu"}


class Goals(unittest.TestCase):
    def test_are_over_the_cells_that_they_are_about(self):
        results = [result((16, 4096, 4096), {"eager": 1.3, "compile": 1.2}), result(ratios={"eager": 0.94}),
                   result((8192, 8192, 8192), {"eager": 0.99, "triton": 0.98}),
                   result((4096, 16384, 4096), {"eager": 1.3, "cublaslt": 1.04}, changed=GELU),
                   result((4096, 4096, 4096), {"eager": 1.2}, changed={"act": "silu"}),
                   result(ratios={"eager": 0.9}, changed={"layout": "tn"}), result(ratios={"eager": 0.5}, dtype="f16")]
        expected = {"plain: least": (0.94, False, 3), "m <= 64": (1.2, True, 1), "8192x8192x8192": (0.99, True, 1),
                    "bias+gelu": (1.04, True, 1), "nn and tn": (0.9, False, 1)}
        for words, (value, met, cells) in expected.items():
            each = goal(results, words)
            self.assertEqual((each["value"], each["met"], each["cells"]), (value, met, cells), words)
        self.assertAlmostEqual(goal(results, "plain: geometric")["value"], (1.2 * 0.94 * 0.98) ** (1 / 3))
        self.assertAlmostEqual(goal(results, "epilogue: geometric")["value"], (1.04 * 1.2) ** 0.5)

    def test_of_drawn_shapes_are_their_own_and_each_kind_has_a_line(self):
        results = [result(ratios={"eager": 0.5}),
                   result((160, 4096, 8192), {"eager": 1.1}, set="off-beaten", kind="few-rows"),
                   result((16000, 1000, 1000), {"eager": 0.99}, set="off-beaten", kind="tall")]
        self.assertEqual(goal(results, "off-beaten: least")["value"], 0.99)
        self.assertTrue(goal(results, "off-beaten: least")["met"])
        self.assertAlmostEqual(goal(results, "off-beaten: geometric")["value"], (1.1 * 0.99) ** 0.5)
        self.assertIsNone(goal(results, "off-beaten epilogue"))
        self.assertEqual(list(gemm_report.summarise(results)["sets"]),
                         ["plain", "off-beaten", "off-beaten, few-rows", "off-beaten, tall"])

    def test_without_cells_are_left_out(self):
        self.assertIsNone(goal([result(dtype="f16")], "plain"))
        self.assertEqual(list(gemm_report.summarise([result(dtype="f16")])["sets"]), ["f16"])


class Accuracy(unittest.TestCase):
    def test_is_held_to_the_better_of_torch_and_its_epilogues(self):
        both = result(changed=GELU)
        both["accuracy"]["cublaslt"] = {"c": {**both["accuracy"]["eager"]["c"], "rms": 0.9e-3}}
        self.assertIn("rms", verdicts.accuracy_faults(both)[0])
        self.assertEqual(verdicts.accuracy_faults(result()), [])

    def test_names_elements_that_are_far_off(self):
        far = result()
        far["accuracy"]["far"] = 7
        self.assertEqual(verdicts.accuracy_faults(far), ["7 elements are far from eager's"])


class Rendering(unittest.TestCase):
    def test_has_a_part_for_each_regime_and_a_rate_for_each_arm(self):
        results = [result((16, 4096, 4096)), result((16, 4096, 4096), regime="sustained"), result(changed=GELU)]
        for form in ("text", "markdown"):
            text = report.render(results, form)
            self.assertIn("gemm, burst (", text)
            self.assertIn("gemm, sustained (", text)
            self.assertIn("nt bias gelu", text)
            self.assertIn("1.100 ±0.010", text)
            self.assertIn("1755", text)
            # 2 · 4096³ operations in 2 µs.
            self.assertIn("68719.5", text)
            self.assertNotIn("ceiling", text)
        parsed = json.loads(report.render(results, "json"))
        self.assertEqual({regime: part["cells"] for regime, part in parsed["gemm"].items()},
                         {"burst": 2, "sustained": 1})
        self.assertNotIn("summary", parsed)

    def test_says_bandwidth_of_few_rows_alone(self):
        few, many = (gemm_report._row(each, []) for each in (result((64, 4096, 4096)), result()))
        column = gemm_report.headings([]).index("GB/s")
        self.assertEqual(few[column], f"{2 * (2 * 64 * 4096 + 4096 * 4096) / 2000:.0f}")
        self.assertEqual(many[column], "-")

    def test_says_how_what_is_served_does_not_fit(self):
        row = gemm_report._row(result(served={"fit": "default", "config": "simt{block_m=64}"}, device=None), [])
        self.assertIn("simt (default)", row)
        self.assertEqual(len(row), len(gemm_report.headings([])))


class Loading(unittest.TestCase):
    def test_takes_both_regimes_of_a_cell_and_names_what_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            (place / "a.json").write_text(json.dumps(result()))
            (place / "a-sustained.json").write_text(json.dumps(result(regime="sustained")))
            self.assertEqual(sorted(each["regime"] for each in report.load(folder)), ["burst", "sustained"])
            partial = result()
            del partial["k"]
            (place / "b.json").write_text(json.dumps(partial))
            with self.assertRaisesRegex(ValueError, "it has no k"):
                report.load(folder)


if __name__ == "__main__":
    unittest.main()
