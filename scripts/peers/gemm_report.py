# SPDX-License-Identifier: Apache-2.0
"""The part of a report that is about gemm, a regime at a time: goals, sets, a line a cell with the rate of each arm."""
from . import registry
from .gemm_cells import DRAWN_SETS, FEW_ROWS
from .gemm_cells import SETS as CHOSEN_SETS
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

SETS = [*CHOSEN_SETS, *DRAWN_SETS.values()]
REGIMES = {"burst": "the GPU rests after each round, so that no power limit is reached",
           "sustained": "no rest, under load for a second or more"}


def by_regime(results):
    parts = {regime: [result for result in results if result["regime"] == regime] for regime in REGIMES}
    return {regime: those for regime, those in parts.items() if those}


def dims_of(result):
    return result["m"], result["n"], result["k"]


def _is_mlp_gelu(result):
    attributes = result["attributes"]
    return (dims_of(result) == (4096, 16384, 4096) and result["set"] == "epilogue" and attributes["bias"] == "yes"
            and attributes["act"] == "gelu")


def _goals(results):
    ratios = ratios_by_cell(results)

    def goal(name, asked, condition, least=False):
        values = [ratios[result["cell"]] for result in results if result["cell"] in ratios and condition(result)]
        missing = sum(1 for result in results if without_verdict(result) and condition(result))
        return judged(name, asked, values, least, missing)

    def in_set(name):
        return lambda r: r["set"] == name

    over_cublas = [result["arms"]["eager"]["over_tilewright"]["median"] for result in results
                   if result["set"] == "plain" and dims_of(result) == (8192, 8192, 8192) and "eager" in result["arms"]]
    goals = [
        goal("plain: least cell, over the fastest peer", 0.95, in_set("plain"), least=True),
        goal("plain: geometric mean", 1.03, in_set("plain")),
        goal(f"plain, m <= {FEW_ROWS}: geometric mean", 1.15,
             lambda r: r["set"] == "plain" and r["m"] <= FEW_ROWS),
        judged("plain, 8192x8192x8192: over cuBLAS (eager)", 0.97, over_cublas, least=True),
        goal("epilogue: geometric mean", 1.08, in_set("epilogue")),
        goal("epilogue, 4096x16384x4096 bias+gelu", 1.02, _is_mlp_gelu, least=True),
        goal("layouts nn and tn: least cell", 0.93, in_set("layouts"), least=True),
    ]
    for name in DRAWN_SETS.values():
        goals.append(goal(f"{name}: geometric mean", 1.02, in_set(name)))
        goals.append(goal(f"{name}: least cell", 0.96, in_set(name), least=True))
    return [each for each in goals if each]


def _of_sets(results):
    """Of each set, and of each kind of what is drawn."""
    ratios = ratios_by_cell(results)
    parts = {(name, ""): [] for name in SETS}
    for result in results:
        if result["cell"] in ratios:
            for kind in {"", result.get("kind", "")}:
                parts.setdefault((result["set"], kind), []).append(ratios[result["cell"]])
    sets = {}
    for (name, kind), values in sorted(parts.items(), key=lambda part: (SETS.index(part[0][0]), part[0][1])):
        if values:
            sets[f"{name}, {kind}" if kind else name] = {
                "cells": len(values), "geometric_mean": geometric_mean(values), "least": min(values)}
    return sets


def summarise(results):
    """Of one regime."""
    return summary_of(results, {
        "goals": _goals(results),
        "sets": _of_sets(results),
    })


def variant(result):
    """nt bias gelu"""
    attributes = result["attributes"]
    words = [attributes["layout"]]
    words += ["tf32"] if attributes["math"] == "tf32" else []
    words += [name for name in ("bias",) if attributes[name] == "yes"]
    words += [attributes["act"]] if attributes["act"] != "none" else []
    words += [name for name in ("residual",) if attributes[name] == "yes"]
    return " ".join(words)


def teraflops(result, arm):
    """Operations in 10^12 a second; None where the arm is not there."""
    if arm not in result["arms"]:
        return None
    return result["flops"] / result["arms"][arm]["median"] / 1e3


def rate_of(result, arm):
    rate = teraflops(result, arm)
    return "-" if rate is None else f"{rate:.1f}"


def served_of(result):
    """What is served: the name of its implementation, or how it does not fit."""
    served = result.get("served", {})
    name = served.get("config", "-").split("{")[0]
    return name if served.get("fit", "exact") == "exact" else f"{name} ({served['fit']})"


def device_of(result):
    device = result.get("device") or {}
    clock, power = device.get("sm_mhz"), device.get("watts")
    return [f"{clock['median']:.0f}" if clock else "-", f"{power['median']:.0f}" if power else "-"]


def _errors(result, what):
    accuracy = result.get("accuracy", {})
    if "ours" not in accuracy:
        return "-"
    return " / ".join(f"{accuracy[who]['c'][what]:.3g}" for who in ("ours", "eager", "cublaslt") if who in accuracy)


def _row(result, peers):
    fastest = fastest_peer(result)
    own = result["arms"]["tilewright"]["median"]
    return [variant(result), result["dtype"], "x".join(str(dim) for dim in dims_of(result)), f"{own / 1e3:.2f}",
            *(rate_of(result, arm) for arm in ["tilewright", *peers]),
            f"{fastest[1]:.3f} ±{(fastest[3] - fastest[2]) / 2:.3f}" if fastest else "-",
            name_of(result, fastest),
            f"{result['bytes'] / own:.0f}" if result["m"] <= FEW_ROWS else "-", *device_of(result), served_of(result),
            _errors(result, "rms"), _errors(result, "largest"), "bad" if accuracy_faults(result) else "good"]


HEADINGS = ["fastest peer / ours", "it is", "GB/s", "MHz", "W", "served", "rms ours / eager / cuBLASLt",
            "largest ours / eager / cuBLASLt", "accuracy"]
NOTE = ("µs is Tilewright's time; the arms are in TFLOP/s. Medians of rounds in which all of a row were timed "
        "alternately; ratios are medians of per-round ratios. In brackets is the fastest where a peer that should be "
        "there is not: no verdict. MHz and W are the SM clock and the power while they were timed.")


def headings(peers):
    titles = [registry.PEERS[peer].title for peer in peers]
    return ["gemm", "dtype", "m x n x k", "µs", "tilewright", *titles, *HEADINGS]


def text(regime, results, form):
    """The parts of a report in words."""
    summary = summarise(results)
    table = table_of(form)
    order = {name: i for i, name in enumerate(SETS)}
    peers = registry.columns(results)
    rows = [_row(result, peers) for result in sorted(results, key=lambda result: order[result["set"]])]
    sets = [[name, f"{each['geometric_mean']:.3f}", f"{each['least']:.3f}", str(each["cells"])]
            for name, each in summary["sets"].items()]
    parts = [f"gemm, {regime} ({REGIMES[regime]}): {summary['cells']} cells on {', '.join(summary['gpus'])}, "
             f"commit {', '.join(summary['commits'])}",
             table(GOAL_HEADINGS, goal_rows(summary)),
             table(["set", "geometric mean over the fastest peer", "least", "cells"], sets),
             NOTE, table(headings(peers), rows)]
    slower = [f"{cell}: {ratio:.3f}" for cell, ratio in summary["slower_than_a_peer"].items()]
    return parts + lists([("Slower than a peer", slower)] + common_lists(summary))
