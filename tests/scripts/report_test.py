# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import tempfile
import unittest

from peers import report


def arm(median, ratio):
    return {"median": median, "low": median, "high": median,
            "over_tilewright": {"median": ratio, "low": ratio - 0.01, "high": ratio + 0.01}}


def result(op="softmax", rows=8192, cols=4096, ratios=None, **more):
    ratios = ratios or {"eager": 3.0, "compile": 1.5, "triton": 1.2, "ceiling": 0.97}
    arms = {name: arm(1000 * ratio, ratio) for name, ratio in ratios.items()}
    arms["tilewright"] = arm(1000, 1.0)
    errors = {"rms": 1e-3, "largest": 0.01, "largest_ulp": 0.6, "ulp_there": 0.004, "wrong": 0}
    base = {"cell": f"{op}-bf16-{rows}x{cols}", "op": op, "attributes": {}, "dtype": "bf16", "rows": rows, "cols": cols,
            "bytes": 4 * rows * cols, "reads": 1, "commit": "abc", "gpu": "H999", "arms": arms, "skipped": {},
            "ceiling": {"tuned": True}, "served": {"fit": "exact"},
            "accuracy": {"ours": {"y": dict(errors)}, "eager": {"y": dict(errors)}},
            "extremes": {"worse_than_eager": 0}}
    return {**base, **more}


def goal(summary, words):
    return next(each for each in summary["goals"] if words in each["goal"])


class FastestPeer(unittest.TestCase):
    def test_is_the_one_with_the_least_time_and_no_ceiling(self):
        self.assertEqual(report.fastest_peer(result())[:2], ("triton", 1.2))
        self.assertIsNone(report.fastest_peer(result(ratios={"ceiling": 0.9})))


class ShareOfCeiling(unittest.TestCase):
    def test_is_of_the_faster_copy(self):
        self.assertEqual(report.share_of_ceiling(result(ratios={"ceiling": 0.97, "torch_copy": 0.99})), 0.97)
        self.assertEqual(report.share_of_ceiling(result(ratios={"ceiling": 0.97, "torch_copy": 0.95})), 0.95)

    def test_is_not_known_without_a_tuned_copy(self):
        self.assertIsNone(report.share_of_ceiling(result(ceiling={"tuned": False})))
        self.assertIsNone(report.share_of_ceiling(result(ratios={"eager": 2.0})))


class AccuracyFaults(unittest.TestCase):
    def test_of_results_as_good_as_eagers_are_none(self):
        self.assertEqual(report.accuracy_faults(result()), [])

    def test_name_what_is_worse(self):
        for change, words in (({"rms": 1.06e-3}, "rms"), ({"largest": 0.0141}, "largest"),
                              ({"wrong": 2}, "no numbers")):
            worse = result()
            worse["accuracy"]["ours"]["y"].update(change)
            self.assertIn(words, report.accuracy_faults(worse)[0])
        self.assertEqual(len(report.accuracy_faults(result(extremes={"worse_than_eager": 3}))), 1)
        dropped = result()
        dropped["accuracy"]["wrong_mask"] = 1
        self.assertIn("kept or dropped", report.accuracy_faults(dropped)[0])

    def test_allow_one_ulp_and_a_twentieth(self):
        near = result()
        near["accuracy"]["ours"]["y"].update({"rms": 1.04e-3, "largest": 0.0139})
        self.assertEqual(report.accuracy_faults(near), [])


class Summary(unittest.TestCase):
    def test_judges_the_goals_over_the_cells_that_they_are_about(self):
        results = [result(), result(cols=262144, rows=512, ratios={"triton": 1.8, "ceiling": 0.96}),
                   result(cols=257, rows=32768, ratios={"triton": 1.0}),
                   result(op="bias_act_dropout", ratios={"triton": 1.5, "ceiling": 0.5})]
        summary = report.summarise(results)
        self.assertEqual(goal(summary, "all cells, over")["value"], 1.0)
        self.assertEqual(goal(summary, "cols >= 65536")["value"], 1.8)
        self.assertEqual(goal(summary, "cols >= 65536")["cells"], 1)
        self.assertFalse(goal(summary, "no power of two")["met"])
        self.assertTrue(goal(summary, "bias_act_dropout")["met"])
        # 8192x4096 has 128 MiB of traffic, and dropout is set aside.
        self.assertEqual(goal(summary, "ceiling")["cells"], 2)
        self.assertEqual(goal(summary, "ceiling")["value"], 0.96)
        self.assertAlmostEqual(goal(summary, "mean of all cells")["value"], (1.2 * 1.8 * 1.0 * 1.5) ** 0.25)

    def test_lists_what_falls_short(self):
        slow = result(ratios={"triton": 0.9, "ceiling": 0.8}, served={"fit": "default"}, skipped={"compile": "why"})
        summary = report.summarise([slow])
        self.assertEqual(summary["slower_than_a_peer"], {slow["cell"]: 0.9})
        self.assertEqual(summary["below_ceiling_goal"], {slow["cell"]: 0.8})
        self.assertEqual(summary["not_exact"], [slow["cell"]])
        self.assertEqual(summary["skipped"], {slow["cell"]: {"compile": "why"}})


class Rendering(unittest.TestCase):
    def test_has_every_cell_in_every_form(self):
        results = [result(), result(op="rmsnorm", skipped={"compile": "line one\nline two"})]
        for form in ("text", "markdown"):
            text = report.render(results, form)
            self.assertIn("rmsnorm", text)
            self.assertIn("1.200 ±0.010", text)
            self.assertIn("97.0 %", text)
            self.assertNotIn("line two", text)
        self.assertEqual(len(json.loads(report.render(results, "json"))["cells"]), 2)


class Loading(unittest.TestCase):
    def test_reads_a_folder_and_names_what_is_no_result(self):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            (place / "a.json").write_text(json.dumps(result(cols=256)))
            (place / "b.json").write_text(json.dumps(result(op="add", cols=256)))
            self.assertEqual([each["op"] for each in report.load(folder)], ["add", "softmax"])
            (place / "c.json").write_text("{}")
            with self.assertRaisesRegex(ValueError, "c.json"):
                report.load(folder)
        self.assertEqual(report.load("/nonexistent"), [])


if __name__ == "__main__":
    unittest.main()
