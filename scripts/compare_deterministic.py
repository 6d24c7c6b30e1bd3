#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times attention_bwd with deterministic=yes beside deterministic=no: alternately in one process, on the same random
tensors, with cold caches, in CUDA graphs. Two launches with it must give the same bits. The cache should have winners
of both: --sweep prints the commands.

    scripts/compare_deterministic.py --cache winners.db --out deterministic.json  all cells
    scripts/compare_deterministic.py --cache winners.db --only 'd64.*causal'      those whose name has that

A cell is a dHEAD-bBATCH-sTOKENS-MASK: those of docs/benchmarks/attention_bwd.md.
"""
import math
import re
import statistics
import sys

from peers import served_cells

HEADS = 16
CELLS = [f"d{d}-b{b}-s{s}-{mask}" for d in (64, 128) for mask in ("full", "causal")
         for b, s in ((8, 1024), (4, 2048), (2, 8192))]


def parts(name):
    match = re.fullmatch(r"d(\d+)-b(\d+)-s(\d+)-(full|causal)", name)
    return int(match[1]), int(match[2]), int(match[3]), "yes" if match[4] == "causal" else "no"


def problems(name):
    d, b, s, causal = parts(name)
    dims = f"b={b},hq={HEADS},hkv={HEADS},sq={s},sk={s},d={d},dv={d}"
    return [f"attention_bwd[dtype=bf16,causal={causal},deterministic={each}]{{{dims}}}" for each in ("no", "yes")]


def inputs_of(d, b, s, causal):
    """q, k, v, o, do and lse, as they lie in a call."""
    import torch
    q, k, v, do = (torch.randn(b, s, HEADS, d, device="cuda", dtype=torch.bfloat16) for _ in range(4))
    o, lse = torch.ops.aten._scaled_dot_product_flash_attention(
        *(each.transpose(1, 2) for each in (q, k, v)), 0.0, causal == "yes", False, scale=1 / math.sqrt(d))[:2]
    return q, k, v, o.transpose(1, 2).contiguous(), do, lse.float().contiguous()


def measure(name, launcher, rounds, stream):
    import torch

    from peers import timing
    d, b, s, causal = parts(name)
    count = max(2, math.ceil(timing.COLD_BYTES / (16 * b * s * HEADS * d)))
    given = [inputs_of(d, b, s, causal) for _ in range(count)]
    made = [[torch.empty_like(each) for each in inputs[:3]] for inputs in given]
    ops = {each: launcher.op("attention_bwd", dtype="bf16", causal=causal, deterministic=each)
           for each in ("no", "yes")}
    launches = {each: lambda i, op=op: op(*given[i], *made[i], 1 / math.sqrt(d)) for each, op in ops.items()}
    # What launches read was made on another stream.
    torch.cuda.synchronize()

    def once(each):
        with torch.cuda.stream(stream):
            launches[each](0)
        stream.synchronize()
        return [gradient.clone() for gradient in made[0]]

    first, again, free = once("yes"), once("yes"), once("no")
    same = all(torch.equal(one, other) for one, other in zip(first, again))
    apart = max(float((one.float() - other.float()).norm() / other.float().norm()) for one, other in zip(first, free))
    graphs = {each: timing.prepare(launch, count, stream, 4.0) for each, launch in launches.items()}
    times = timing.alternate(graphs, rounds, stream)
    for graph in graphs.values():
        graph.free()
    dims = {"b": b, "hq": HEADS, "hkv": HEADS, "sq": s, "sk": s, "d": d, "dv": d}
    matched = {each: op.match(**dims) for each, op in ops.items()}
    return {"cell": name, "op": "attention_bwd", "part": "deterministic", "d": d, "b": b, "s": s, "causal": causal,
            "ns": {each: statistics.median(ns) for each, ns in times.items()},
            "ratio": statistics.median(yes / no for yes, no in zip(times["yes"], times["no"])), "same": same,
            "apart": apart, "served": {each: match.config for each, match in matched.items()},
            "fit": {each: match.fit for each, match in matched.items()}}


def line_of(result):
    ns = result["ns"]
    return (f"{result['cell']}: {ns['yes'] / 1e3:.1f} µs, without {ns['no'] / 1e3:.1f}, ratio {result['ratio']:.3f}, "
            f"{'the same bits' if result['same'] else 'OTHER BITS'}, {result['apart']:.1e} apart {result['served']}")


if __name__ == "__main__":
    sys.exit(served_cells.run(sys.argv[1:], __file__, __doc__, {name: name for name in CELLS}, problems, measure,
                              line_of, has_page=True))
