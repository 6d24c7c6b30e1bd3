# SPDX-License-Identifier: Apache-2.0
"""The examples are short, and ranks without a common snapshot refuse. That the applications run is
tests/launch/example_test.cpp's."""
import os
import pathlib
import runpy
import sys
import types
import unittest
from unittest import mock

import tilewright

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "docs" / "examples"


class Examples(unittest.TestCase):
    def test_applications_have_less_than_60_lines(self):
        for path in ("application/main.cpp", "application_c/main.c", "python/main.py"):
            with self.subTest(path):
                self.assertLess(len((EXAMPLES / path).read_text(encoding="utf-8").splitlines()), 60)


class Ranks(unittest.TestCase):
    """Of torch, one after the other."""

    def opened(self, snapshot=None, error=None):
        """What each of two ranks opens, or says, where rank 0 finds this snapshot, or this error."""
        sent, opened = [], []

        def broadcast(objects, src):
            sent.extend(objects if not sent else [])
            objects[:] = sent

        distributed = types.ModuleType("torch.distributed")
        distributed.broadcast_object_list = broadcast
        torch = types.ModuleType("torch")
        torch.distributed = distributed
        with mock.patch.dict(sys.modules, {"torch": torch, "torch.distributed": distributed}), \
                mock.patch("tilewright.Launcher") as launcher:
            launcher.side_effect = error
            launcher.return_value.__enter__.return_value.snapshot.return_value = snapshot
            pin_for_all = runpy.run_path(str(EXAMPLES / "ranks" / "torch_ranks.py"))["pin_for_all"]
            for rank in range(2):
                distributed.get_rank = lambda rank=rank: rank
                try:
                    pin_for_all("folder")
                    opened.append(launcher.call_args.kwargs["snapshot"])
                except RuntimeError as error:
                    opened.append(str(error))
        return opened

    def test_open_what_rank_0_names(self):
        self.assertEqual(self.opened({"cache": "stable.db", "snapshot": "sha256:1"}), ["sha256:1"] * 2)

    def test_refuse_where_rank_0_has_no_hash(self):
        said = self.opened({"cache": "stable.db", "snapshot": None, "why": "tuners write the cache"})
        self.assertEqual(said, ["stable.db of rank 0 is no snapshot: tuners write the cache"] * 2)

    def test_refuse_where_the_link_of_rank_0_is_missing(self):
        said = self.opened(error=tilewright.CacheError("it is missing"))
        self.assertEqual(said, [f"{os.path.join('folder', 'stable.db')} of rank 0 is no snapshot: it is missing"] * 2)


if __name__ == "__main__":
    unittest.main()
