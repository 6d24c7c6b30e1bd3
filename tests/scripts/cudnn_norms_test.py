# SPDX-License-Identifier: Apache-2.0
"""Which graphs are made, and what is kept of one that cuDNN refuses: with stand-ins for torch and its frontend."""
import importlib
import sys
import types
import unittest
from unittest import mock

from peers import cells

STAND_INS = ("torch", "torch._dynamo", "torch._inductor", "torch._inductor.config", "torch.nn", "torch.nn.functional",
             "triton", "triton.language")


class NotSupported(Exception):
    pass


def matrix(rows, cols, dtype, is_cuda=True):
    return mock.MagicMock(shape=(rows, cols), dtype=dtype, is_cuda=is_cuda)


class CudnnNorms(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.dict(sys.modules, {name: mock.MagicMock() for name in STAND_INS})
        patch.start()
        self.addCleanup(patch.stop)
        self.measure = importlib.import_module("peers.measure")
        self.norms = self.measure.arms.cudnn_norms  # with the stand-ins that it was first imported with
        self.bf16 = self.norms.torch.bfloat16
        self.cudnn = mock.MagicMock()
        self.graph = self.cudnn.pygraph.return_value
        self.graph.tensor.side_effect = lambda **named: named["name"]
        self.graph.get_workspace_size.return_value = 0

    def operation(self, outputs, **settings):
        self.graph.rmsnorm_backward.return_value = outputs
        given = {"input": matrix(8, 16, self.bf16), "epsilon": matrix(1, 1, self.norms.torch.float32, False)}
        with mock.patch.dict(sys.modules, {"cudnn": self.cudnn}):
            return self.norms.Operation("rmsnorm_backward", given, [self.bf16], **settings)

    def test_are_planned_with_packed_rows_and_run_in_the_stream_at_hand(self):
        operation = self.operation([mock.MagicMock(), None], has_dbias=False)
        called = {each.kwargs["name"]: each.kwargs for each in self.graph.tensor.call_args_list}
        self.assertEqual((called["input"]["dim"], called["input"]["stride"]), ([8, 16, 1, 1], [16, 1, 16, 16]))
        self.assertEqual({name: each["is_pass_by_value"] for name, each in called.items()},
                         {"input": False, "epsilon": True})
        self.assertEqual(self.graph.rmsnorm_backward.call_args.kwargs["has_dbias"], False)
        planned = [name for name, *_ in self.graph.method_calls][-6:]
        self.assertEqual(planned, ["validate", "build_operation_graph", "create_execution_plans", "check_support",
                                   "build_plans", "get_workspace_size"])
        operation({"input": "x", "epsilon": "e"}, ["dx"])
        self.cudnn.set_stream.assert_called_once()
        self.assertEqual(self.graph.execute.call_args.args[0], {"input": "x", "epsilon": "e", operation.made[0]: "dx"})

    def skipped(self, cudnn):
        """What a measurer keeps of the arm."""
        measurer = self.measure.Measurer.__new__(self.measure.Measurer)
        result, launches = {"skipped": {}}, {}
        sets = types.SimpleNamespace(inputs=[{name: matrix(8, 16, self.bf16) for name in ("x", "weight", "dy")}])
        for tensor in sets.inputs[0].values():
            tensor.view.return_value = tensor.float.return_value = tensor
        self.norms.torch.rsqrt.return_value = matrix(8, 1, self.bf16)
        cell = cells.Cell("rmsnorm_bwd", (), "bf16", 8, 16)
        with mock.patch.dict(sys.modules, {"cudnn": cudnn}):
            measurer._add(launches, result, "cudnn", lambda: measurer._peer("cudnn", cell, sets, result))
        return launches, result["skipped"]

    def test_that_are_refused_leave_the_reason(self):
        self.graph.rmsnorm_backward.return_value = [mock.MagicMock(), mock.MagicMock(), None]
        self.graph.check_support.side_effect = NotSupported("no engine for 16 columns")
        self.assertEqual(self.skipped(self.cudnn), ({}, {"cudnn": "NotSupported: no engine for 16 columns"}))

    def test_are_absent_where_the_frontend_is(self):
        launches, skipped = self.skipped(None)  # of a module that is not found
        self.assertEqual(launches, {})
        self.assertRegex(skipped["cudnn"], "ModuleNotFoundError|ImportError")

    def test_return_the_gradients_of_x_and_of_the_weights(self):
        self.graph.rmsnorm_backward.return_value = [mock.MagicMock(), mock.MagicMock(), None]
        launches, skipped = self.skipped(self.cudnn)
        self.assertEqual((list(launches), skipped), (["cudnn"], {}))
        with mock.patch.dict(sys.modules, {"cudnn": self.cudnn}):
            self.assertEqual(len(launches["cudnn"](0)), 2)
        self.assertEqual(len(self.graph.execute.call_args.args[0]), 4 + 2)


if __name__ == "__main__":
    unittest.main()
