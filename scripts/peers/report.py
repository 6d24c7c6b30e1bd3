# SPDX-License-Identifier: Apache-2.0
"""Tables and summary of a comparison, from the JSON files of its cells."""
import json
import pathlib

from .cells import NORMS
from .statistics import geometric_mean

PEERS = ["eager", "compile", "triton", "liger"]
LARGE_BYTES = 128 << 20
WIDE_COLS = 65536


def load(folder):
    """The results in the folder, by name of their cell. Files that are no result are named in the error."""
    results = []
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
            missing = {"cell", "op", "attributes", "dtype", "rows", "cols", "bytes", "arms"} - set(result)
            if missing or "tilewright" not in result["arms"]:
                raise ValueError(f"it has no {', '.join(sorted(missing) or ['time of ours'])}")
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} is no result of a cell ({error}); move it away or measure the cell again") from error
        results.append(result)
    return sorted(results, key=lambda result: (result["op"], sorted(result["attributes"].items()), result["dtype"],
                                               result["rows"] * result["cols"], result["rows"]))


def fastest_peer(result):
    """(name, time over ours: median, low, high) of the fastest; None without peers."""
    times = {name: result["arms"][name] for name in PEERS if name in result["arms"]}
    if not times:
        return None
    name = min(times, key=lambda peer: times[peer]["over_tilewright"]["median"])
    ratio = times[name]["over_tilewright"]
    return name, ratio["median"], ratio["low"], ratio["high"]


def share_of_ceiling(result):
    """The faster copy's time over ours; None where no tuned copy was there to compare with."""
    shares = [result["arms"][name]["over_tilewright"]["median"] for name in ("ceiling", "torch_copy")
              if name in result["arms"]]
    if not shares or not result.get("ceiling", {}).get("tuned"):
        return None
    return min(shares)


def accuracy_faults(result):
    """In words, what of our results is worse than is allowed; empty when nothing is."""
    faults = []
    accuracy = result.get("accuracy", {})
    for name, ours in accuracy.get("ours", {}).items():
        theirs = accuracy["eager"][name]
        if ours["wrong"]:
            faults.append(f"{name}: {ours['wrong']} elements are no numbers")
        # Two results that round everything rightly differ by nothing; where torch is exact there is nothing to divide by.
        if ours["rms"] > 1.05 * theirs["rms"] and ours["rms"] > 1e-12:
            faults.append(f"{name}: rms {ours['rms']:.3g}, eager {theirs['rms']:.3g}")
        if ours["largest"] > theirs["largest"] + ours["ulp_there"]:
            faults.append(f"{name}: largest error {ours['largest']:.3g}, eager {theirs['largest']:.3g}")
    if accuracy.get("wrong_mask"):
        faults.append(f"{accuracy['wrong_mask']} elements are kept or dropped against the definition")
    worse = result.get("extremes", {}).get("worse_than_eager", 0)
    if worse:
        faults.append(f"{worse} extreme elements are worse than eager's")
    return faults


def has_odd_width(result):
    cols = result["cols"]
    return cols & (cols - 1) != 0


def label(result):
    inside = ",".join(f"{name}={value}" for name, value in result["attributes"].items())
    return f"{result['op']}[{inside}]" if inside else result["op"]


def _judged(name, asked, values, least=False):
    if not values:
        return None
    value = min(values) if least else geometric_mean(values)
    return {"goal": name, "asked": asked, "cells": len(values), "value": value, "met": value >= asked}


def summarise(results):
    """Goals with what was reached, and geometric means by op."""
    ratios = {result["cell"]: fastest_peer(result) for result in results}
    ratios = {cell: ratio[1] for cell, ratio in ratios.items() if ratio}

    def of(condition):
        return [ratios[result["cell"]] for result in results if result["cell"] in ratios and condition(result)]

    shares = {result["cell"]: share_of_ceiling(result) for result in results
              if result["bytes"] >= LARGE_BYTES and "dropout" not in result["op"]
              and result["attributes"].get("act") != "gelu_erf"}
    shares = {cell: share for cell, share in shares.items() if share is not None}
    goals = [
        _judged("least of all cells, over the fastest peer", 0.98, of(lambda r: True), least=True),
        _judged("geometric mean of all cells", 1.08, of(lambda r: True)),
        _judged("geometric mean of softmax and norms at cols >= 65536", 1.5,
                of(lambda r: r["cols"] >= WIDE_COLS and (r["op"] == "softmax" or r["op"] in NORMS))),
        _judged("geometric mean of widths that are no power of two", 1.3, of(has_odd_width)),
        _judged("geometric mean of bias_act_dropout", 1.4, of(lambda r: r["op"] == "bias_act_dropout")),
        _judged("least share of the ceiling at 128 MiB or more (gelu_erf and dropout aside)", 0.95,
                list(shares.values()), least=True),
    ]
    faults = {result["cell"]: accuracy_faults(result) for result in results}
    faults = {cell: words for cell, words in faults.items() if words}
    ops = sorted({label(result) for result in results})
    return {
        "cells": len(results),
        "commits": sorted({result.get("commit", "unknown") for result in results}),
        "gpus": sorted({result.get("gpu", "unknown") for result in results}),
        "goals": [goal for goal in goals if goal],
        "ops": {op: geometric_mean(of(lambda r, op=op: label(r) == op)) for op in ops
                if of(lambda r, op=op: label(r) == op)},
        "slower_than_a_peer": {cell: ratio for cell, ratio in sorted(ratios.items(), key=lambda item: item[1])
                               if ratio < 1.0},
        "below_ceiling_goal": {cell: share for cell, share in sorted(shares.items(), key=lambda item: item[1])
                               if share < 0.95},
        "not_exact": sorted(result["cell"] for result in results
                            if result.get("served", {}).get("fit", "exact") != "exact"),
        "accuracy_faults": faults,
        "skipped": {result["cell"]: result["skipped"] for result in results if result.get("skipped")},
    }


def _time(result, arm):
    return f"{result['arms'][arm]['median'] / 1e3:.2f}" if arm in result["arms"] else "-"


def _row(result):
    fastest = fastest_peer(result)
    share = share_of_ceiling(result)
    own = result["arms"]["tilewright"]["median"]
    errors = result.get("accuracy", {}).get("ours", {}).get("y", {})
    theirs = result.get("accuracy", {}).get("eager", {}).get("y", {})
    return [label(result), f"{result['rows']}x{result['cols']}", result["dtype"], _time(result, "tilewright"),
            *(_time(result, peer) for peer in PEERS), _time(result, "ceiling"),
            f"{fastest[1]:.3f} ±{(fastest[3] - fastest[2]) / 2:.3f}" if fastest else "-", fastest[0] if fastest else "-",
            f"{100 * share:.1f} %" if share else "-", f"{result['bytes'] / own:.0f}",
            f"{errors['rms']:.3g} / {theirs['rms']:.3g}" if errors else "-",
            f"{errors['largest']:.3g} / {theirs['largest']:.3g}" if errors else "-",
            "bad" if accuracy_faults(result) else "good"]


HEADINGS = ["op", "shape", "dtype", "tilewright", "eager", "compile", "Triton", "Liger", "ceiling", "fastest peer / ours",
            "it is", "of ceiling", "GB/s", "rms ours / eager", "largest ours / eager", "accuracy"]
NOTE = "Times in µs. Medians of rounds in which all of a row were timed alternately; ratios are medians of per-round ratios."


def _plain_table(headings, rows):
    widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
             for row in [headings, ["-" * width for width in widths], *rows]]
    return "\n".join(lines)


def _markdown_table(headings, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [headings, ["---"] * len(headings), *rows])


def _goal_rows(summary):
    return [[goal["goal"], f"{goal['value']:.3f}", f"{goal['asked']:.2f}", "met" if goal["met"] else "MISSED",
             str(goal["cells"])] for goal in summary["goals"]]


def render(results, form):
    summary = summarise(results)
    if form == "json":
        return json.dumps({"summary": summary, "cells": results}, indent=1, ensure_ascii=False) + "\n"
    table = _markdown_table if form == "markdown" else _plain_table
    parts = [f"{summary['cells']} cells on {', '.join(summary['gpus'])}, commit {', '.join(summary['commits'])}",
             table(["goal", "reached", "asked", "", "cells"], _goal_rows(summary)),
             table(["op", "geometric mean over the fastest peer"],
                   [[op, f"{value:.3f}"] for op, value in summary["ops"].items()])]
    parts += [NOTE, table(HEADINGS, [_row(result) for result in results])]
    lists = [("Slower than a peer", [f"{cell}: {ratio:.3f}" for cell, ratio in summary["slower_than_a_peer"].items()]),
             ("Below 0.95 of the ceiling",
              [f"{cell}: {share:.3f}" for cell, share in summary["below_ceiling_goal"].items()]),
             ("Not served exactly", summary["not_exact"]),
             ("Accuracy", [f"{cell}: {'; '.join(words)}" for cell, words in summary["accuracy_faults"].items()]),
             ("Left out", [f"{cell}: {arm}: {reason}" for cell, arms in summary["skipped"].items()
                           for arm, reason in arms.items()])]
    for title, lines in lists:
        if lines:
            parts.append("\n".join([f"{title}:", *("- " + line.splitlines()[0] for line in lines)]))
    return "\n\n".join(parts) + "\n"
