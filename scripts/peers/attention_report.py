# SPDX-License-Identifier: Apache-2.0
"""The part of a report that is about attention, or attention_bwd, a regime at a time: goals, head sizes, a line a cell
with the rate of each arm."""
from . import registry
from .attention_cells import SETS
from .gemm_report import REGIMES, device_of, rate_of, served_of
from .statistics import geometric_mean
from .verdicts import (
    GOAL_HEADINGS,
    accuracy_faults,
    common_lists,
    fastest_peer,
    goal_rows,
    judged,
    lists,
    name_of,
    ratios_by_cell,
    summary_of,
    table_of,
    without_verdict,
)

SHORT = 1024


def head_of(result):
    return f"{result['d']}" if result["d"] == result["dv"] else f"{result['d']}/{result['dv']}"


def _goals(results):
    ratios = ratios_by_cell(results)

    def goal(name, asked, condition=lambda _: True, least=False, peer=None):
        """Over the fastest peer, or over one."""
        def ratio_of(result):
            return result["arms"][peer]["over_tilewright"]["median"] if peer else ratios[result["cell"]]
        values = [ratio_of(result) for result in results if result["cell"] in ratios and condition(result)
                  and (peer is None or peer in result["arms"])]
        missing = sum(1 for result in results if without_verdict(result) and condition(result))
        return judged(name, asked, values, least, missing)

    if results[0]["op"] == "attention_bwd":
        goals = [goal("geometric mean, over FlashAttention 4", 0.95, peer="flash4"),
                 goal("least cell, over cuDNN", 1.00, least=True, peer="cudnn")]
    else:
        goals = [goal("geometric mean, over the fastest peer", 1.00),
                 goal("least cell, over the fastest peer", 0.93, least=True),
                 goal(f"d=64 and s <= {SHORT}: geometric mean", 1.10, lambda r: r["d"] == 64 and r["s"] <= SHORT)]
    return [each for each in goals if each]


def summarise(results):
    """Of one regime."""
    ratios = ratios_by_cell(results)
    heads = {}
    for result in results:
        if result["cell"] in ratios:
            heads.setdefault(head_of(result), []).append(ratios[result["cell"]])
    return summary_of(results, {
        "goals": _goals(results),
        "heads": {head: {"cells": len(values), "geometric_mean": geometric_mean(values), "least": min(values)}
                  for head, values in heads.items()},
    })


def _errors(result, what):
    accuracy = result.get("accuracy", {})
    return " / ".join(f"{max(each[what] for each in accuracy[who].values()):.3g}" if who in accuracy else "-"
                      for who in ("ours", "cudnn", "flash2", "flash4"))


def _row(result, peers):
    fastest = fastest_peer(result)
    own = result["arms"]["tilewright"]["median"]
    return [head_of(result), "causal" if result["attributes"]["causal"] == "yes" else "full",
            f"{result['b']}x{result['s']}", f"{result['hq']}/{result['hkv']}", f"{own / 1e3:.1f}",
            *(rate_of(result, arm) for arm in ["tilewright", *peers]),
            f"{fastest[1]:.3f} ±{(fastest[3] - fastest[2]) / 2:.3f}" if fastest else "-",
            name_of(result, fastest), *device_of(result), served_of(result), _errors(result, "rms"),
            _errors(result, "largest"), "bad" if accuracy_faults(result) else "good"]


HEADINGS = ["fastest peer / ours", "it is", "MHz", "W", "served", "rms ours / cuDNN / FA2 / FA4",
            "largest ours / cuDNN / FA2 / FA4", "accuracy"]
NOTE = ("µs is Tilewright's time; the arms are in TFLOP/s, of which a causal mask has half. Medians of rounds in which "
        "all of a row were timed alternately; ratios are medians of per-round ratios. In brackets is the fastest where "
        "a peer that should be there is not: no verdict.")


def text(regime, results, form):
    """The parts of a report in words; of one op."""
    summary = summarise(results)
    table = table_of(form)
    order = {name: i for i, name in enumerate(SETS)}
    peers = registry.columns(results)
    rows = [_row(result, peers) for result in sorted(results, key=lambda result: order[result["set"]])]
    heads = [[head, f"{each['geometric_mean']:.3f}", f"{each['least']:.3f}", str(each["cells"])]
             for head, each in summary["heads"].items()]
    titles = [registry.PEERS[peer].title for peer in peers]
    parts = [f"{results[0]['op']}, {regime} ({REGIMES[regime]}): {summary['cells']} cells on "
             f"{', '.join(summary['gpus'])}, commit {', '.join(summary['commits'])}"]
    if summary["goals"]:
        parts += [table(GOAL_HEADINGS, goal_rows(summary)),
                  table(["d", "geometric mean over the fastest peer", "least", "cells"], heads)]
    parts += [NOTE, table(["d", "mask", "b x s", "heads", "µs", "tilewright", *titles, *HEADINGS], rows)]
    slower = [f"{cell}: {ratio:.3f}" for cell, ratio in summary["slower_than_a_peer"].items()]
    return parts + lists([("Slower than a peer", slower)] + common_lists(summary))
