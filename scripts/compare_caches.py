#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the winners of two caches side by side: how far do two sweeps of the same problems agree?

    scripts/compare_caches.py first.db second.db
    scripts/compare_caches.py first.db second.db --only '^softmax' --out differences.json

Problems are the cells of scripts/compare_peers.py of row and elementwise ops and their gradients, in all types, and of
gemm. Each that both have a winner for is launched from each cache alternately, on the same random tensors, with cold
caches, products in bursts. Where both have the same config there is nothing to time. It needs a GPU and torch.
"""
import argparse
import json
import pathlib
import sys

from peers import cells as cells_of
from peers import gemm_cells, library, statistics

ALL_TYPES = list(cells_of.ELEMENT_BYTES)


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", help="a cache")
    parser.add_argument("second", help="another")
    parser.add_argument("--library", help="libtilewright.so; default: in ../lib, or in a build folder")
    parser.add_argument("--only", help="only problems whose name this expression matches somewhere")
    parser.add_argument("--shapes", type=lambda text: text.split(","),
                        help="of row ops, instead of the built-in list: 8192x4096,256x1000")
    parser.add_argument("--rounds", type=int, default=41, help="of each (default: 41)")
    parser.add_argument("--within", type=float, default=1.0,
                        help="per cent within which two times count as equal (default: 1)")
    parser.add_argument("--out", help="write each problem's figures as JSON")
    options = parser.parse_args(words)
    try:
        options.cells = cells_of.make_cells(ALL_TYPES, options.shapes,
                                            options.only) + gemm_cells.make_cells(only=options.only)
    except Exception as error:  # of a shape or the expression
        parser.error(str(error))
    for cache in (options.first, options.second):
        if not pathlib.Path(cache).exists():
            parser.error(f"there is no cache {cache}; make one with `tilewright sweep`")
    return options


def exact(launcher, cell):
    """What is served for this very problem, or None."""
    try:
        answer = launcher.op(cell.spec).query(cell.call_dims)
    except library.LibraryError:
        return None
    return answer if answer["fit"] == "exact" else None


def time_pair(launchers, cell, rounds):
    """The ratio of the second's time to the first's, by round."""
    import torch

    from peers import arms, regimes, timing
    stream = torch.cuda.Stream()
    generator = torch.Generator(device="cuda")
    generator.manual_seed(cell.seed)
    count = timing.sets_for(cell, torch.cuda.get_device_properties(0).L2_cache_size)
    sets = arms.Sets(cell, count, generator)
    graphs = {}
    for name, launcher in launchers.items():
        launch, _ = arms.ours(launcher, cell, sets)
        launch(0)
        torch.cuda.synchronize()
        graphs[name] = timing.prepare(launch, count, stream, 2.0 if cell.op == "gemm" else 1.0)
    alternate = regimes.burst if cell.op == "gemm" else timing.alternate
    times = alternate(graphs, rounds, stream)
    for graph in graphs.values():
        graph.free()
    return [second / first for first, second in zip(times["first"], times["second"])]


def main(words):
    options = parse(words)
    file = library.find_library(options.library)
    launchers = {name: library.Launcher(file, cache) for name,
                 cache in (("first", options.first), ("second", options.second))}
    found = []
    for cell in options.cells:
        served = {name: exact(launcher, cell) for name, launcher in launchers.items()}
        if not all(served.values()):
            continue
        configs = [answer["config"] for answer in served.values()]
        result = {"problem": cell.name, "first": configs[0], "second": configs[1], "same": configs[0] == configs[1]}
        result["second_over_first"] = {"median": 1.0} if result["same"] else statistics.summary(
            time_pair(launchers, cell, options.rounds))
        found.append(result)
        ratio = result["second_over_first"]["median"]
        print(f"{ratio:.4f}  {cell.name}  {configs[0] if result['same'] else ' | '.join(configs)}", flush=True)
    if not found:
        print("compare_caches: no problem has a winner in both caches; "
              "`tilewright list --cache FILE` tells what one has", file=sys.stderr)
        return 1
    near = sum(abs(result["second_over_first"]["median"] - 1) < options.within / 100 for result in found)
    print(f"{len(found)} problems: {sum(result['same'] for result in found)} have the same winner, {near} have winners "
          f"within {options.within:g} % of each other")
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
