# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import tempfile
import unittest

from peers import attention_bwd_cells, attention_cells, report
from peers.verdicts import accuracy_faults


def arm(median, ours=100000.0):
    ratio = median / ours
    return {"median": median, "low": median, "high": median, "launches": 1, "rounds_ns": [median],
            "over_tilewright": {"median": ratio, "low": ratio, "high": ratio}}


def error(rms=1e-3, largest=1e-2):
    return {"o": {"rms": rms, "largest": largest, "largest_ulp": 1.0, "ulp_there": 1e-3, "wrong": 0}}


def result(cell, flash4=True, ours=None):
    arms = {"tilewright": arm(100000.0), "cudnn": arm(110000.0), "flash2": arm(200000.0), "triton": arm(150000.0)}
    if flash4:
        arms["flash4"] = arm(105000.0)
    return {"cell": cell.name, "op": cell.op, "attributes": dict(cell.attributes), "dtype": cell.dtype, **cell.facts(),
            "arms": arms, "regime": "burst", "expected": ["triton", "cudnn", "flash2", "flash4"],
            "skipped": {} if flash4 else {"flash4": "ModuleNotFoundError: none"},
            "accuracy": {"ours": ours or error(), "cudnn": error(), "flash2": error()}, "commit": "c", "gpu": "H200",
            "served": {"config": "wgmma{block_m=128}", "fit": "exact"}}


def rendered(results, form):
    with tempfile.TemporaryDirectory() as folder:
        for each in results:
            pathlib.Path(folder, f"{each['cell']}.json").write_text(json.dumps(each), encoding="utf-8")
        return report.render(report.load(folder), form)


class Report(unittest.TestCase):
    def setUp(self):
        self.cells = attention_cells.make_cells(sets=["main"])

    def test_judges_cells_that_have_all_arms(self):
        summary = json.loads(rendered([result(cell) for cell in self.cells], "json"))["attention"]["burst"]
        self.assertEqual({goal["value"] for goal in summary["goals"]}, {1.05})
        self.assertEqual([goal["met"] for goal in summary["goals"]], [True, True, False])
        self.assertEqual(summary["heads"]["64"]["cells"], 16)
        self.assertEqual(summary["no_verdict"], {})

    def test_judges_gradients_by_goals_of_their_own(self):
        gradients = {name: error()["o"] for name in ("dq", "dk", "dv")}
        gradients["dk"]["rms"] = 2e-3
        summary = json.loads(rendered([result(cell, ours=gradients) for cell in attention_bwd_cells.make_cells()],
                                      "json"))["attention_bwd"]["burst"]
        self.assertEqual([(goal["value"], goal["cells"]) for goal in summary["goals"]], [(1.05, 12), (1.1, 12)])
        text = rendered([result(attention_bwd_cells.make_cells()[0], ours=gradients)], "text")
        self.assertIn("attention_bwd, burst", text)
        self.assertIn("0.002 / 0.001 / 0.001", text, "the worst of the gradients")

    def test_gives_no_verdict_where_an_arm_is_absent_and_says_so(self):
        results = [result(cell, flash4=False) for cell in self.cells[:2]]
        summary = json.loads(rendered(results, "json"))["attention"]["burst"]
        self.assertEqual(summary["goals"], [])
        self.assertEqual(set(summary["no_verdict"]), {cell.name for cell in self.cells[:2]})
        for form in ("text", "markdown"):
            text = rendered(results, form)
            self.assertIn("No verdict:", text)
            self.assertIn("(cudnn)", text)
            self.assertIn("flash4: ModuleNotFoundError", text)

    def test_leaves_a_goal_open_while_one_of_its_cells_has_no_verdict(self):
        results = [result(cell, flash4=index > 0) for index, cell in enumerate(self.cells)]
        summary = json.loads(rendered(results, "json"))["attention"]["burst"]
        self.assertEqual([(goal["open"], goal["met"]) for goal in summary["goals"]],
                         [(1, False), (1, False), (1, False)])

    def test_holds_the_error_to_the_best_peers(self):
        cell = self.cells[0]
        self.assertEqual(accuracy_faults(result(cell, ours=error(1.04e-3, 1.2e-2))), [])
        self.assertRegex(accuracy_faults(result(cell, ours=error(1.06e-3)))[0], "rms")
        self.assertRegex(accuracy_faults(result(cell, ours=error(largest=1.3e-2)))[0], "largest")
