#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times attention_varlen of 64 sequences of drawn lengths beside attention of 64 sequences that are equally long, with
as many products: alternately in one process, on random tensors, with cold caches, in CUDA graphs. Compares results of
some sequences of both with float64. The cache should have winners of both: --sweep prints the commands.

    scripts/compare_varlen.py --cache winners.db --out varlen.json               all cells
    scripts/compare_varlen.py --cache winners.db --only 'd128.*causal'           those whose name has that

A cell is a dHEAD-sTOKENS-MASK: lengths are drawn from 1 to TOKENS, of queries and keys alike.
"""
import math
import re
import statistics
import sys

from peers import served_cells
from peers.verdicts import SAME

HEADS, SEQUENCES = 16, 64
CELLS = [f"d{d}-s{s}-{mask}" for d in (64, 128) for s in (1024, 4096) for mask in ("full", "causal")]


def parts(name):
    match = re.fullmatch(r"d(\d+)-s(\d+)-(full|causal)", name)
    return int(match[1]), int(match[2]), "yes" if match[3] == "causal" else "no"


def lengths_of(most):
    return served_cells.drawn_lengths(SEQUENCES, most)


def pairs(lengths, causal):
    """Of a query and a key that it sees."""
    return sum(n * (n + 1) // 2 if causal == "yes" else n * n for n in lengths)


def dense_tokens(most):
    """Of each of as many sequences, for as many pairs without a mask."""
    return round(math.sqrt(sum(n * n for n in lengths_of(most)) / SEQUENCES))


def problems(name):
    d, most, causal = parts(name)
    tokens, equal = sum(lengths_of(most)), dense_tokens(most)
    head = f"hq={HEADS},hkv={HEADS}"
    return (f"attention_varlen[dtype=bf16,causal={causal}]{{batch={SEQUENCES},tokens_q={tokens},tokens_k={tokens},"
            f"{head},d={d},dv={d}}}",
            f"attention[dtype=bf16,causal={causal}]{{b={SEQUENCES},{head},sq={equal},sk={equal},d={d},dv={d}}}")


def error_of(o, q, k, v, causal):
    """Norm-wise, of one sequence, against float64."""
    import torch
    scores = torch.einsum("ihd,jhd->hij", q.double(), k.double()) / math.sqrt(q.shape[2])
    if causal:
        scores += torch.full_like(scores[0], -math.inf).triu(1)
    right = torch.einsum("hij,jhd->ihd", torch.softmax(scores, -1), v.double())
    return float((o.double() - right).norm() / right.norm())


def measure(name, launcher, rounds, stream):
    import torch

    from peers import timing
    d, most, causal = parts(name)
    lengths, equal = lengths_of(most), dense_tokens(most)
    tokens = {"varlen": sum(lengths), "dense": SEQUENCES * equal}
    count = max(2, math.ceil(timing.COLD_BYTES / (8 * min(tokens.values()) * HEADS * d)))
    scale = 1 / math.sqrt(d)
    tensors = {arm: [[torch.randn(tokens[arm], HEADS, d, device="cuda", dtype=torch.bfloat16) for _ in range(4)]
                     for _ in range(count)] for arm in tokens}
    cu = torch.tensor([0, *(sum(lengths[:n + 1]) for n in range(SEQUENCES))], dtype=torch.int32, device="cuda")
    varlen = launcher.op("attention_varlen", dtype="bf16", causal=causal)
    dense = launcher.op("attention", dtype="bf16", causal=causal)

    def packed(i):
        q, k, v, o = tensors["varlen"][i]
        varlen(q, k, v, cu, cu, o, scale)

    def alike(i):
        dense(*(each.view(SEQUENCES, equal, HEADS, d) for each in tensors["dense"][i]), scale)

    # What launches read was made on another stream.
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        packed(0)
        alike(0)
    stream.synchronize()
    worst = {}
    for arm, each in (("varlen", lengths), ("dense", [equal] * SEQUENCES)):
        errors = []
        for n in (0, SEQUENCES // 2, SEQUENCES - 1):
            own = slice(sum(each[:n]), sum(each[:n + 1]))
            q, k, v, o = (tensor[own] for tensor in tensors[arm][0])
            errors.append(error_of(o, q, k, v, causal == "yes"))
        if not all(error < SAME for error in errors):
            raise RuntimeError(f"the output of {arm} is another one: errors {errors}")
        worst[arm] = max(errors)
    flops = {arm: 4 * d * HEADS * pairs(each, causal)
             for arm, each in (("varlen", lengths), ("dense", [equal] * SEQUENCES))}
    graphs = {arm: timing.prepare(launch, count, stream, 4.0) for arm, launch in (("varlen", packed), ("dense", alike))}
    times = timing.alternate(graphs, rounds, stream)
    ns = {arm: statistics.median(each) for arm, each in times.items()}
    for graph in graphs.values():
        graph.free()
    dims = {"hq": HEADS, "hkv": HEADS, "d": d, "dv": d}
    all_tokens = {"tokens_q": tokens["varlen"], "tokens_k": tokens["varlen"]}
    matched = {"varlen": varlen.match(batch=SEQUENCES, **all_tokens, **dims),
               "dense": dense.match(b=SEQUENCES, sq=equal, sk=equal, **dims)}
    return {"cell": name, "op": "attention_varlen", "d": d, "most": most, "causal": causal, "tokens": tokens, "ns": ns,
            "error": worst["varlen"], "error_dense": worst["dense"],
            "served": {arm: each.config for arm, each in matched.items()},
            "fit": {arm: each.fit for arm, each in matched.items()},
            "tflops": {arm: flops[arm] / ns[arm] / 1e3 for arm in ns}}


def line_of(result):
    packed, alike = (result["tflops"][arm] for arm in ("varlen", "dense"))
    return (f"{result['cell']}: varlen {packed:.0f} dense {alike:.0f} TFLOP/s, varlen / dense {packed / alike:.3f}, "
            f"error {result['error']:.1e} {result['served']}")


if __name__ == "__main__":
    sys.exit(served_cells.run(sys.argv[1:], __file__, __doc__, {name: name for name in CELLS}, problems, measure,
                              line_of, has_page=True))
