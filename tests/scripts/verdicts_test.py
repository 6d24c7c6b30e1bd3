# SPDX-License-Identifier: Apache-2.0
import unittest

from peers import gemm_report, report, verdicts


def arm(median, ratio):
    return {"median": median, "low": median, "high": median,
            "over_tilewright": {"median": ratio, "low": ratio - 0.01, "high": ratio + 0.01}}


def errors(rms=1e-3, wrong=0):
    return {"y": {"rms": rms, "largest": 0.01, "largest_ulp": 0.6, "ulp_there": 0.004, "wrong": wrong}}


def result(ratios, expected=None, cell="softmax-bf16-8192x4096", **more):
    base = {"cell": cell, "op": "softmax", "attributes": {}, "dtype": "bf16", "rows": 8192, "cols": 4096,
            "bytes": 4 * 8192 * 4096, "reads": 1, "skipped": {}, "served": {"fit": "exact"},
            "arms": {"tilewright": arm(1000, 1.0), **{name: arm(1000 * ratio, ratio)
                                                      for name, ratio in ratios.items()}},
            "accuracy": {"ours": errors(), "eager": errors()}}
    if expected is not None:
        base["expected"] = expected
    return {**base, **more}


class Verdict(unittest.TestCase):
    def test_is_there_where_every_expected_peer_is(self):
        complete = result({"eager": 3.0, "quack": 1.1}, ["eager", "quack"])
        self.assertEqual(verdicts.without_verdict(complete), {})
        self.assertEqual(verdicts.ratios_by_cell([complete]), {complete["cell"]: 1.1})

    def test_is_refused_where_an_expected_peer_is_absent(self):
        for skipped, why in (({"quack": "ModuleNotFoundError: No module named 'quack'"}, "No module"),
                             ({}, "was not timed")):
            absent = result({"eager": 3.0}, ["eager", "quack"], skipped=skipped)
            self.assertIn(why, verdicts.without_verdict(absent)["quack"])
            self.assertEqual(verdicts.ratios_by_cell([absent]), {}, "3.0 over eager says nothing of QuACK")

    def test_does_not_wait_for_peers_that_were_not_asked_for(self):
        self.assertEqual(verdicts.without_verdict(result({"eager": 3.0}, ["eager"])), {})

    def test_of_older_results_is_over_the_peers_that_were_tried(self):
        self.assertEqual(verdicts.without_verdict(result({"eager": 3.0})), {})
        tried = result({"eager": 3.0}, skipped={"compile": "late", "ceiling": "no copy"})
        self.assertEqual(list(verdicts.without_verdict(tried)), ["compile"])

    def test_is_refused_where_a_peer_computes_something_else(self):
        for wrong, why in ((errors(rms=5e-3), "off"), (errors(wrong=2), "no numbers")):
            cheating = result({"eager": 3.0, "quack": 0.5}, ["eager", "quack"])
            cheating["accuracy"]["quack"] = wrong
            self.assertIn(why, verdicts.without_verdict(cheating)["quack"])
            self.assertEqual(verdicts.fastest_peer(cheating)[0], "eager", "a wrong result is not fast")
        honest = result({"eager": 3.0, "quack": 1.5}, ["eager", "quack"])
        honest["accuracy"]["quack"] = errors(rms=3e-3)
        self.assertEqual(verdicts.without_verdict(honest), {})

    def test_of_accuracy_is_beside_the_best_peer_whose_numbers_are_right(self):
        for rms, wrong, fault in ((0.9e-3, 0, "the best peer's 0.0009"), (0.9e-3, 1, ""), (0.99e-3, 0, "")):
            made = result({"eager": 3.0, "quack": 1.5})
            made["accuracy"]["quack"] = errors(rms=rms, wrong=wrong)
            made["accuracy"]["unfused"] = errors(rms=1e-5)
            self.assertEqual(len(verdicts.accuracy_faults(made)), bool(fault), fault)
            self.assertIn(fault, " ".join(verdicts.accuracy_faults(made)))

    def test_losing_is_told_with_and_without_one(self):
        absent = result({"eager": 0.9}, ["eager", "quack"])
        self.assertEqual(verdicts.slower_than_a_peer([absent]), {absent["cell"]: 0.9})


class Goals(unittest.TestCase):
    def test_with_open_cells_are_not_met_and_say_how_many(self):
        complete = result({"eager": 1.5}, ["eager"], cell="a")
        absent = result({"eager": 9.0}, ["eager", "quack"], cell="b")
        summary = report.summarise([complete, absent])
        least = next(goal for goal in summary["goals"] if "least of all cells" in goal["goal"])
        self.assertEqual((least["value"], least["cells"], least["open"], least["met"]), (1.5, 1, 1, False))
        self.assertIn("open", verdicts.goal_rows(summary)[0])
        self.assertEqual(list(summary["no_verdict"]), ["b"])

    def test_that_are_missed_are_missed_whatever_is_open(self):
        missed = verdicts.judged("g", 1.0, [0.9], open_cells=1)
        self.assertIn("MISSED", verdicts.goal_rows({"goals": [missed]})[0])

    def test_without_open_cells_are_met(self):
        self.assertIn("met", verdicts.goal_rows({"goals": [verdicts.judged("g", 1.0, [1.1])]})[0])


class Reports(unittest.TestCase):
    def test_put_the_fastest_in_brackets_and_list_the_reason(self):
        absent = result({"eager": 3.0}, ["eager", "quack"], skipped={"quack": "ImportError: gone\nmore"},
                        commit="abc", gpu="H999")
        text = report.render([absent], "text")
        self.assertIn("(eager)", text)
        self.assertIn("No verdict:\n- softmax-bf16-8192x4096: quack: ImportError: gone", text)
        self.assertNotIn("Left out", text, "it is told once")
        self.assertIn("QuACK", text)

    def test_of_products_do_the_same(self):
        attributes = {"layout": "nt", "math": "ieee", "bias": "no", "act": "none", "residual": "no"}
        absent = result({"eager": 1.2}, ["eager", "quack"], op="gemm", attributes=attributes, m=4096, n=4096, k=4096,
                        flops=2 * 4096**3, set="plain", regime="burst", commit="abc", gpu="H999")
        absent["accuracy"] = {}
        text = "\n".join(gemm_report.text("burst", [absent], "text"))
        self.assertIn("(eager)", text)
        self.assertIn("QuACK", text)


class Dropout(unittest.TestCase):
    def test_of_a_peer_that_keeps_too_much_leaves_no_verdict(self):
        for asked, wrong in ((True, []), (False, ["triton"])):
            kept = {"y": errors()["y"] | {"keep_rate": 1.0, "keeps_as_asked": asked}}
            made = result({"eager": 1.2, "triton": 1.1}, ["eager", "triton"],
                          accuracy={"ours": errors(), "eager": errors(), "triton": kept})
            self.assertEqual(list(verdicts.without_verdict(made)), wrong)


class Accuracy(unittest.TestCase):
    def test_is_judged_by_the_outputs_that_torch_has(self):
        ours = {"y": errors(rms=1e-3)["y"], "lse": errors(rms=1e-3)["y"]}
        with_torch = {"ours": ours, "eager": errors(rms=1e-4)}
        faults = verdicts.accuracy_faults(result({}, accuracy=with_torch))
        self.assertEqual(len(faults), 1)
        self.assertIn("y: rms", faults[0])

    def test_has_no_faults_but_numbers_that_are_none_where_torch_is_absent(self):
        self.assertEqual(verdicts.accuracy_faults(result({}, accuracy={"ours": errors(), "flash4": errors()})), [])
        faults = verdicts.accuracy_faults(result({}, accuracy={"ours": errors(wrong=2)}))
        self.assertEqual(faults, ["y: 2 elements are no numbers"])


if __name__ == "__main__":
    unittest.main()
