#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All ranks of a torch.distributed job are served from one snapshot, and tell before the first step where they are not.

torchrun --nproc-per-node 8 torch_ranks.py

torch's collectives of objects need NumPy."""

import os

import torch.distributed

import tilewright


def pin_for_all(folder: str) -> tilewright.Launcher:
    """Rank 0 says which snapshot its folder's link leads to; every rank opens that one by its hash, or raises why there
    is none."""
    said = [None]
    if torch.distributed.get_rank() == 0:
        link = os.path.join(folder, "stable.db")
        try:
            with tilewright.Launcher(link) as launcher:
                said = [launcher.snapshot()]
        except tilewright.Error as error:  # the others wait for what it says
            said = [{"cache": link, "snapshot": None, "why": str(error)}]
    torch.distributed.broadcast_object_list(said, src=0)
    if said[0]["snapshot"] is None:
        raise RuntimeError(f"{said[0]['cache']} of rank 0 is no snapshot: {said[0]['why']}")
    return tilewright.Launcher(os.path.join(folder, "stable.db"), snapshot=said[0]["snapshot"])


def require_same_plans(launcher: tilewright.Launcher) -> None:
    """After the warm-up: every rank has launched the same shapes, and each is served by the same config and binary."""
    mine = launcher.snapshot()
    seen = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(seen, (mine["snapshot"], mine["plans"], mine["plans_digest"]))
    for rank, other in enumerate(seen):
        if other != seen[0]:
            raise RuntimeError(f"rank {rank} is served {other}, and rank 0 {seen[0]}")


def main() -> None:
    torch.distributed.init_process_group("gloo")
    folder = os.environ.get("TILEWRIGHT_PULLED", os.path.expanduser("~/.cache/tilewright/pulled"))
    launcher = pin_for_all(folder)
    # ... the warm-up of the model, with ops of this launcher ...
    require_same_plans(launcher)
    print(f"rank {torch.distributed.get_rank()}: {launcher.snapshot()['snapshot']}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
