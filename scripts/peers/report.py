# SPDX-License-Identifier: Apache-2.0
"""Tables and summary of a comparison, from the JSON files of its cells: of row and elementwise ops here, of gemm and
attention in reports of their own."""
import json
import math
import pathlib

from . import attention_report, fused_cells, fused_report, gemm_report, registry
from .cells import NORMS
from .statistics import geometric_mean
from .verdicts import (
    GOAL_HEADINGS,
    accuracy_faults,
    common_lists,
    fastest_peer,
    goal_rows,
    judged,
    label,
    lists,
    name_of,
    ratios_by_cell,
    summary_of,
    table_of,
    without_verdict,
)

# Of ops that are timed in regimes; others have rows and columns.
DIMS = {"gemm": ("m", "n", "k"), **dict.fromkeys(("attention", "attention_bwd"), ("d", "dv", "b", "s", "hq", "hkv")),
        **fused_cells.DIMS}
REPORTS = {"gemm": gemm_report, "attention": attention_report, "attention_bwd": attention_report,
           "fused": fused_report}
LARGE_BYTES = 128 << 20
WIDE_COLS = 65536


def part_of(result):
    return "fused" if result["op"] in fused_cells.DIMS else result["op"]


def _missing(result):
    needed = {"cell", "op", "attributes", "dtype", "bytes", "arms"}
    needed |= set(DIMS.get(result.get("op"), ("rows", "cols")))
    if result.get("op") in DIMS:
        needed |= {"flops", "set", "regime"}
    return needed - set(result)


def _order(result):
    dims = [result[name] for name in DIMS.get(result["op"], ("rows", "cols"))]
    return result["op"], sorted(result["attributes"].items()), result["dtype"], math.prod(dims), dims


def load(folder):
    """The results in the folder, by name of their cell. Files that are no result are named in the error."""
    results = []
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
            missing = _missing(result)
            if missing or "tilewright" not in result["arms"]:
                raise ValueError(f"it has no {', '.join(sorted(missing) or ['time of ours'])}")
        except (AttributeError, ValueError, TypeError) as error:
            raise ValueError(
                f"{path} is no result of a cell ({error}); move it away or measure the cell again") from error
        results.append(result)
    return sorted(results, key=_order)


def share_of_ceiling(result):
    """The faster copy's time over ours; None where no tuned copy was there to compare with."""
    shares = [result["arms"][name]["over_tilewright"]["median"] for name in ("ceiling", "torch_copy")
              if name in result["arms"]]
    if not shares or not result.get("ceiling", {}).get("tuned"):
        return None
    return min(shares)


def has_odd_width(result):
    cols = result["cols"]
    return cols & (cols - 1) != 0


def summarise(results):
    """Goals with what was reached, and geometric means by op."""
    ratios = ratios_by_cell(results)

    def of(condition):
        return [ratios[result["cell"]] for result in results if result["cell"] in ratios and condition(result)]

    def goal(name, asked, condition, least=False):
        missing = sum(1 for result in results if without_verdict(result) and condition(result))
        return judged(name, asked, of(condition), least, missing)

    shares = {result["cell"]: share_of_ceiling(result) for result in results
              if result["bytes"] >= LARGE_BYTES and "dropout" not in result["op"]
              and result["attributes"].get("act") != "gelu_erf"}
    shares = {cell: share for cell, share in shares.items() if share is not None}
    goals = [
        goal("least of all cells, over the fastest peer", 0.98, lambda r: True, least=True),
        goal("geometric mean of all cells", 1.08, lambda r: True),
        goal("geometric mean of softmax and norms at cols >= 65536", 1.5,
             lambda r: r["cols"] >= WIDE_COLS and (r["op"] == "softmax" or r["op"] in NORMS)),
        goal("geometric mean of widths that are no power of two", 1.3, has_odd_width),
        goal("geometric mean of bias_act_dropout", 1.4, lambda r: r["op"] == "bias_act_dropout"),
        judged("least share of the ceiling at 128 MiB or more (gelu_erf and dropout aside)", 0.95,
               list(shares.values()), least=True),
    ]
    ops = sorted({label(result) for result in results})
    return summary_of(results, {
        "goals": [each for each in goals if each],
        "ops": {op: geometric_mean(of(lambda r, op=op: label(r) == op)) for op in ops
                if of(lambda r, op=op: label(r) == op)},
        "below_ceiling_goal": {cell: share for cell, share in sorted(shares.items(), key=lambda item: item[1])
                               if share < 0.95},
    })


def _time(result, arm):
    return f"{result['arms'][arm]['median'] / 1e3:.2f}" if arm in result["arms"] else "-"


def _row(result, peers):
    fastest = fastest_peer(result)
    share = share_of_ceiling(result)
    own = result["arms"]["tilewright"]["median"]
    errors = result.get("accuracy", {}).get("ours", {}).get("y", {})
    theirs = result.get("accuracy", {}).get("eager", {}).get("y", {})
    return [label(result), f"{result['rows']}x{result['cols']}", result["dtype"], _time(result, "tilewright"),
            *(_time(result, peer) for peer in peers), _time(result, "ceiling"),
            f"{fastest[1]:.3f} ±{(fastest[3] - fastest[2]) / 2:.3f}" if fastest else "-",
            name_of(result, fastest),
            f"{100 * share:.1f} %" if share else "-", f"{result['bytes'] / own:.0f}",
            f"{errors['rms']:.3g} / {theirs['rms']:.3g}" if errors else "-",
            f"{errors['largest']:.3g} / {theirs['largest']:.3g}" if errors else "-",
            "bad" if accuracy_faults(result) else "good"]


HEADINGS = ["ceiling", "fastest peer / ours", "it is", "of ceiling", "GB/s", "rms ours / eager", "largest ours / eager",
            "accuracy"]
NOTE = ("Times in µs. Medians of rounds in which all of a row were timed alternately; ratios are medians of per-round "
        "ratios. In brackets is the fastest where a peer that should be there is not: no verdict.")


def headings(peers):
    return ["op", "shape", "dtype", "tilewright", *(registry.PEERS[peer].title for peer in peers), *HEADINGS]


def _text(results, form):
    summary = summarise(results)
    table = table_of(form)
    parts = [f"{summary['cells']} cells on {', '.join(summary['gpus'])}, commit {', '.join(summary['commits'])}",
             table(GOAL_HEADINGS, goal_rows(summary)),
             table(["op", "geometric mean over the fastest peer"],
                   [[op, f"{value:.3f}"] for op, value in summary["ops"].items()])]
    peers = registry.columns(results)
    parts += [NOTE, table(headings(peers), [_row(result, peers) for result in results])]
    titled = [("Slower than a peer", [f"{cell}: {ratio:.3f}" for cell, ratio in summary["slower_than_a_peer"].items()]),
              ("Below 0.95 of the ceiling",
               [f"{cell}: {share:.3f}" for cell, share in summary["below_ceiling_goal"].items()])]
    return parts + lists(titled + common_lists(summary))


def render(results, form):
    """The row and elementwise ops, then gemm, attention and what is a product and more, a part for each regime."""
    others = [result for result in results if result["op"] not in DIMS]
    by_op = {op: gemm_report.by_regime([result for result in results if part_of(result) == op]) for op in REPORTS}
    if form == "json":
        parts = {"summary": summarise(others)} if others else {}
        for op, regimes in by_op.items():
            if regimes:
                parts[op] = {regime: REPORTS[op].summarise(those) for regime, those in regimes.items()}
        return json.dumps({**parts, "cells": results}, indent=1, ensure_ascii=False) + "\n"
    parts = _text(others, form) if others else []
    for op, regimes in by_op.items():
        for regime, those in regimes.items():
            parts += REPORTS[op].text(regime, those, form)
    return "\n\n".join(parts) + "\n"
