# SPDX-License-Identifier: Apache-2.0
"""How arms are made and what is kept of one that fails: with stand-ins for torch and Triton."""
import importlib
import sys
import types
import unittest
from unittest import mock

from peers import fused_cells, registry, verdicts

STAND_INS = ("torch", "torch._dynamo", "torch._inductor", "torch._inductor.config", "torch.nn", "torch.nn.functional",
             "triton", "triton.language")


class Arms(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.dict(sys.modules, {name: mock.MagicMock() for name in STAND_INS})
        patch.start()
        self.addCleanup(patch.stop)
        self.measure = importlib.import_module("peers.measure")
        measurer = self.measure.Measurer.__new__(self.measure.Measurer)
        measurer.options = types.SimpleNamespace(peers=list(registry.PEERS))
        measurer.warm = types.SimpleNamespace(compiled_is_ready=lambda cell: False)
        measurer.launcher = None
        measurer._add_ceiling = lambda *_: None
        measurer._triton = lambda *_: mock.Mock()
        self.measurer = measurer

    def launches(self, makers):
        cell = types.SimpleNamespace(op="softmax", attributes=(), dtype="bf16", cols=4096)
        result = {"expected": registry.expected(cell, self.measurer.options.peers), "skipped": {}, "arms": {}}
        with mock.patch.object(self.measure.arms, "MAKERS", makers), \
                mock.patch.object(self.measure.arms, "ours", lambda *_: (mock.Mock(), {"fit": "exact"})):
            return self.measurer._launches(cell, None, result), result

    def test_that_run_are_there_and_others_leave_their_error(self):
        def absent(cell, sets):
            raise ModuleNotFoundError("No module named 'quack'")

        def failing(cell, sets):
            return mock.Mock(side_effect=RuntimeError("too wide"))
        launches, result = self.launches({"eager": lambda *_: mock.Mock(), "liger": failing, "quack": absent})
        self.assertEqual(list(launches), ["tilewright", "eager", "triton"])
        self.assertEqual(result["skipped"], {
            "compile": "TimeoutError: its first compile did not end in time",
            "liger": "RuntimeError: too wide",
            "quack": "ModuleNotFoundError: No module named 'quack'"})

    def test_that_copy_are_scaled_alike(self):
        self.measurer.copy = types.SimpleNamespace(scale=2.0)
        self.measurer.stream = None
        self.measurer.options.round_ms = None
        self.measurer._alternate = lambda graphs, _: {name: [100.0] * 5 for name in graphs}
        result = {"arms": {}, "skipped": {}}
        with mock.patch.object(self.measure.timing, "prepare", lambda *_: types.SimpleNamespace(count=1, free=int)):
            self.measurer._time(dict.fromkeys(("tilewright", "ceiling", "torch_copy")), 2, result)
        self.assertEqual({name: arm["median"] for name, arm in result["arms"].items()},
                         {"tilewright": 100.0, "ceiling": 200.0, "torch_copy": 200.0})

    def test_of_few_rows_of_fused_products_have_a_copy_beside_them(self):
        kind = importlib.import_module("peers.fused_measure").FusedMeasurer
        measurer, added = kind.__new__(kind), []
        measurer._add = lambda launches, result, name, make: added.append(name)
        for op, shape in (("mlp", "1x64x64x64"), ("mlp", "17x64x64x64"), ("gemm_gated", "16x64x64"),
                          ("gemm_dropout", "1x64x64"), ("gemm_add_rmsnorm", "1x64x64")):
            measurer._add_ceiling({}, fused_cells.BY_OP[op].make_cells(shapes=[shape])[0], [], {})
        self.assertEqual(added, ["ceiling", "ceiling", "product", "product", "copy"])

    def test_that_copy_the_matrix_of_a_norm_go_through_enough_of_them_to_be_cold(self):
        kind = importlib.import_module("peers.fused_measure").FusedMeasurer
        measurer, launched, result = kind.__new__(kind), [], {}
        measurer.launcher, measurer.l2_bytes, measurer.tuned_copies = None, 50 << 20, lambda _: []
        written = fused_cells.BY_OP["gemm_add_rmsnorm"].make_cells(shapes=["512x4096x4096"])[0].written
        made = types.SimpleNamespace(tuned=True, scale=1.0, served={}, launches={"ceiling": launched.append})
        with mock.patch.object(self.measure.arms, "Ceiling", lambda *_: made):
            launch = measurer._copy(written, result)
            for _ in range(25):
                launch(0)
        self.assertEqual(launched, [*range(24), 0], "24 times 8 MiB are 192 MiB")
        self.assertEqual(result["copy"], {"tuned": True, "scale": 1.0, "served": {}})

    def test_that_failed_leave_the_cell_without_a_verdict(self):
        def absent(cell, sets):
            raise ModuleNotFoundError("No module named 'quack'")
        self.measurer.options.peers = ["eager", "quack"]
        launches, result = self.launches({"eager": lambda *_: mock.Mock(), "quack": absent})
        timed = {"median": 2.0, "low": 2.0, "high": 2.0}
        result["arms"] = {name: {**timed, "over_tilewright": timed} for name in launches}
        self.assertEqual(list(verdicts.without_verdict(result)), ["quack"])


if __name__ == "__main__":
    unittest.main()
