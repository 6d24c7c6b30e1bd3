# SPDX-License-Identifier: Apache-2.0
"""What the reports of all ops have in common: the fastest peer of a cell, whether there is a verdict, faults of
accuracy, goals, tables."""
from .registry import PEERS
from .statistics import geometric_mean

# A peer whose rms error is so many times eager's computes something else.
OFF = 4
# A result of attention further off than this share of it, norm-wise, is another result.
SAME = 0.01


def _why_wrong(result, peer):
    """In words, what is wrong with a peer's outputs; empty where nothing is, or nobody looked."""
    accuracy = result.get("accuracy", {})
    for name, errors in accuracy.get(peer, {}).items():
        if errors["wrong"]:
            return f"{errors['wrong']} elements of its {name} are no numbers"
        if not errors.get("keeps_as_asked", True):
            return f"it keeps {errors['keep_rate']:.4f} of its {name}, which is not what it was asked for"
        eager = accuracy.get("eager", {}).get(name)
        if eager and peer != "eager" and errors["rms"] > OFF * eager["rms"] and errors["rms"] > 1e-12:
            return f"its {name} is off: rms {errors['rms']:.3g}, eager {eager['rms']:.3g}"
    return ""


def without_verdict(result):
    """Peers that should be there and are not, or are wrong, each with the reason. Where there is one, the fastest of
    the others is not the fastest of all: the cell has no verdict. Results of older commits list no peers that should
    be there; in these it is those that were tried."""
    skipped = result.get("skipped", {})
    expected = result.get("expected", [name for name in PEERS if name in result["arms"] or name in skipped])
    reasons = {}
    for name in expected:
        why = _why_wrong(result, name) if name in result["arms"] else skipped.get(name, "it was not timed")
        if why:
            reasons[name] = why
    return reasons


def fastest_peer(result):
    """(name, time over ours: median, low, high) of the fastest that is right; None without peers."""
    times = {name: result["arms"][name] for name in PEERS if name in result["arms"] and not _why_wrong(result, name)}
    if not times:
        return None
    name = min(times, key=lambda peer: times[peer]["over_tilewright"]["median"])
    ratio = times[name]["over_tilewright"]
    return name, ratio["median"], ratio["low"], ratio["high"]


def name_of(result, fastest):
    """Of fastest_peer's, for a table: in brackets where there is no verdict."""
    if fastest is None:
        return "-"
    return f"({fastest[0]})" if without_verdict(result) else fastest[0]


def ratios_by_cell(results):
    """The fastest peer's time over ours, where there is a verdict."""
    ratios = {result["cell"]: fastest_peer(result) for result in results if not without_verdict(result)}
    return {cell: ratio[1] for cell, ratio in ratios.items() if ratio}


def slower_than_a_peer(results):
    """Cells where some peer is ahead, verdict or not, the furthest behind first."""
    ratios = {result["cell"]: fastest_peer(result) for result in results}
    behind = {cell: ratio[1] for cell, ratio in ratios.items() if ratio and ratio[1] < 1.0}
    return dict(sorted(behind.items(), key=lambda item: item[1]))


def all_without_verdict(results):
    reasons = {result["cell"]: without_verdict(result) for result in results}
    return {cell: each for cell, each in reasons.items() if each}


def best_errors(accuracy, name):
    """Of an output, the least of the peers': (rms, largest); None where none of them has right numbers of it."""
    theirs = [accuracy[peer][name] for peer in PEERS if peer != "unfused" and name in accuracy.get(peer, {})
              and not accuracy[peer][name]["wrong"]]
    if not theirs:
        return None
    return min(each["rms"] for each in theirs), min(each["largest"] for each in theirs)


def accuracy_faults(result):
    """In words, what of our results is worse than is allowed; empty when nothing is."""
    faults = []
    accuracy = result.get("accuracy", {})
    for name, ours in accuracy.get("ours", {}).items():
        if ours["wrong"]:
            faults.append(f"{name}: {ours['wrong']} elements are no numbers")
        best = best_errors(accuracy, name)
        if best is None:
            continue
        rms, largest = best
        # Two results that round everything rightly differ by nothing; where a peer is exact there is nothing to divide
        # by.
        if ours["rms"] > 1.05 * rms and ours["rms"] > 1e-12:
            faults.append(f"{name}: rms {ours['rms']:.3g}, the best peer's {rms:.3g}")
        # Attention rounds inside, too, and each in a way of its own.
        room = 0.25 * largest if result["op"].startswith("attention") else ours["ulp_there"]
        if ours["largest"] > largest + room:
            faults.append(f"{name}: largest error {ours['largest']:.3g}, the best peer's {largest:.3g}")
    if accuracy.get("wrong_mask"):
        faults.append(f"{accuracy['wrong_mask']} elements are kept or dropped against the definition")
    if accuracy.get("far"):
        faults.append(f"{accuracy['far']} elements are far from eager's")
    worse = result.get("extremes", {}).get("worse_than_eager", 0)
    if worse:
        faults.append(f"{worse} extreme elements are worse than eager's")
    return faults


def all_faults(results):
    faults = {result["cell"]: accuracy_faults(result) for result in results}
    return {cell: words for cell, words in faults.items() if words}


def not_exact(results):
    return sorted(result["cell"] for result in results if result.get("served", {}).get("fit", "exact") != "exact")


def label(result):
    inside = ",".join(f"{name}={value}" for name, value in result["attributes"].items())
    return f"{result['op']}[{inside}]" if inside else result["op"]


def judged(name, asked, values, least=False, open_cells=0):
    """A goal with what was reached; None where there is no cell to judge. While some of its cells have no verdict
    (`open_cells`) it is not met."""
    if not values:
        return None
    value = min(values) if least else geometric_mean(values)
    return {"goal": name, "asked": asked, "cells": len(values), "value": value, "open": open_cells,
            "met": value >= asked and open_cells == 0}


def _goal_state(goal):
    return "MISSED" if goal["value"] < goal["asked"] else "met" if goal["met"] else "open"


def goal_rows(summary):
    return [[goal["goal"], f"{goal['value']:.3f}", f"{goal['asked']:.2f}", _goal_state(goal), str(goal["cells"]),
             str(goal["open"])] for goal in summary["goals"]]


GOAL_HEADINGS = ["goal", "reached", "asked", "", "cells", "no verdict"]


def _plain_table(headings, rows):
    widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
             for row in [headings, ["-" * width for width in widths], *rows]]
    return "\n".join(lines)


def _markdown_table(headings, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [headings, ["---"] * len(headings), *rows])


def summary_of(results, own=None):
    """Of results of one op or one regime, in any report; `own` is what that op's report adds."""
    return {
        "cells": len(results),
        "commits": sorted({result.get("commit", "unknown") for result in results}),
        "gpus": sorted({result.get("gpu", "unknown") for result in results}),
        **(own or {}),
        "no_verdict": all_without_verdict(results),
        "slower_than_a_peer": slower_than_a_peer(results),
        "not_exact": not_exact(results),
        "accuracy_faults": all_faults(results),
        "skipped": {result["cell"]: result["skipped"] for result in results if result.get("skipped")},
    }


def table_of(form):
    return _markdown_table if form == "markdown" else _plain_table


def lists(titled):
    """Of (title, lines): those that have lines, each line cut at its first."""
    return ["\n".join([f"{title}:", *("- " + line.splitlines()[0] for line in lines)])
            for title, lines in titled if lines]


def common_lists(summary):
    """(title, lines) of what every report lists."""
    return [("No verdict", [f"{cell}: {peer}: {why}" for cell, reasons in summary["no_verdict"].items()
                            for peer, why in reasons.items()]),
            ("Not served exactly", summary["not_exact"]),
            ("Accuracy", [f"{cell}: {'; '.join(words)}" for cell, words in summary["accuracy_faults"].items()]),
            ("Left out", [f"{cell}: {arm}: {reason}" for cell, arms in summary["skipped"].items()
                          for arm, reason in arms.items() if arm not in summary["no_verdict"].get(cell, {})])]
