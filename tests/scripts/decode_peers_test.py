# SPDX-License-Identifier: Apache-2.0
"""Which of FlashInfer's kernels is timed: with a stand-in for torch."""
import importlib
import sys
import types
import unittest
from unittest import mock


class Kernels(unittest.TestCase):
    def test_that_compute_something_else_are_not_chosen_from(self):
        stand_ins = {name: mock.MagicMock() for name in ("torch", "torch.nn", "torch.nn.functional")}
        with mock.patch.dict(sys.modules, stand_ins):
            for name in ("peers.decode_peers", "peers.timing"):
                sys.modules.pop(name, None)
            peers = importlib.import_module("peers.decode_peers")
            made = {name: lambda of, name=name: lambda i: name for name in ("quick", "right", "slow")}

            def check(output):
                if output == "quick":
                    raise RuntimeError("its output is another one")
            with mock.patch.object(peers, "FLASHINFER", made), mock.patch.object(peers, "timing") as timing:
                timing.fastest = lambda launches, sets, stream: next(iter(launches), None)
                name, _ = peers.flashinfer(types.SimpleNamespace(q=[0]), mock.Mock(), check)
                self.assertEqual(name, "right")
                with self.assertRaisesRegex(RuntimeError, "quick: RuntimeError: its output is another one"):
                    made.pop("right"), made.pop("slow")
                    peers.flashinfer(types.SimpleNamespace(q=[0]), mock.Mock(), check)


if __name__ == "__main__":
    unittest.main()
