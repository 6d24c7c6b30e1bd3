# SPDX-License-Identifier: Apache-2.0
"""What a page of docs/benchmarks keeps of a comparison: one JSON file with commit, device, driver, date, commands and
the figures of each cell. `scripts/benchmark report` makes the page from it. No torch is needed."""
import datetime
import json
import os
import pathlib
import shlex
import subprocess

from . import report, verdicts
from .cells import BACKWARD
from .fused_cells import DIMS as FUSED

# Ops that have a page of their own; others are on that of the row ops.
PARTS = {"gemm": "gemm", "attention": "attention", "attention_bwd": "attention_bwd", "attention_decode": "decode",
         "attention_paged": "decode", "attention_varlen": "varlen", **dict.fromkeys(BACKWARD, "gradients"),
         **dict.fromkeys(FUSED, "fused")}
# Options that say nothing of the method.
UNSHOWN = ("--commit", "--share", "--json", "--library", "--report")


def find_commit():
    root = pathlib.Path(__file__).resolve().parents[2]
    for place in (root / "share" / "tilewright" / "commit", root / "commit"):
        if place.exists():
            return place.read_text(encoding="utf-8").strip()
    try:
        command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def part_of(result):
    drawn = "drawn" if result["op"] == "gemm" and result.get("kind") else None
    return result.get("part") or drawn or PARTS.get(result["op"], "rows")


def shown(script, words):
    """The command, without paths of the machine and what its figures do not depend on."""
    kept, skip = [f"scripts/{pathlib.Path(script).name}"], False
    for word in words:
        if not skip and word not in UNSHOWN:
            kept.append(pathlib.Path(word).name if os.path.isabs(word) else word)
        skip = not skip and word in UNSHOWN
    return shlex.join(kept)


def _over_best(result, what):
    """Ours over the best peer's, the worst of the outputs; None where there is nothing to divide by."""
    accuracy = result.get("accuracy", {})
    pairs = [(errors[what], verdicts.best_errors(accuracy, name)) for name, errors in accuracy.get("ours", {}).items()]
    ratios = [ours / best[what == "largest"] for ours, best in pairs if best and best[what == "largest"] > 0]
    return max(ratios) if ratios else None


def _attention(result):
    """What an attention's row is found by, and how far each peer and each error is from ours."""
    attributes = {name: value for name, value in result["attributes"].items() if value != "no" and name != "causal"}
    mask = ["causal" if result["attributes"]["causal"] == "yes" else "none"]
    return {"d": str(result["d"]) if result["d"] == result["dv"] else f"{result['d']}/{result['dv']}",
            "mask": ", ".join(mask + [f"{name}={value}" for name, value in attributes.items()]),
            "sequences": f"{result['b']}×{result['s']}", "heads": f"{result['hq']}/{result['hkv']}",
            "regime": result["regime"], "errors_over_best": {what: _over_best(result, what)
                                                             for what in ("rms", "largest")},
            "errors_of": [peer for peer in verdicts.PEERS if peer in result.get("accuracy", {})]}


def cell_figures(result):
    """Of a result of compare_peers.py."""
    fastest = verdicts.fastest_peer(result)
    dims = [result[name] for name in report.DIMS.get(result["op"], ("rows", "cols"))]
    ours = result["arms"]["tilewright"]["median"]
    peers = {name: arm for name, arm in result["arms"].items() if name in verdicts.PEERS}
    served = result.get("served", {})
    figures = {
        "op": verdicts.label(result), "shape": "x".join(map(str, dims)), "dtype": result["dtype"], "ns": ours,
        "peers_ns": {name: arm["median"] for name, arm in peers.items()},
        "over_peers": {name: arm["over_tilewright"]["median"] for name, arm in peers.items()},
        "fastest": fastest and fastest[0], "over_fastest": fastest and list(fastest[1:]),
        "no_verdict": verdicts.without_verdict(result), "fit": served.get("fit", "exact"),
        "implementation": served.get("config", "").split("{")[0], "inaccurate": verdicts.accuracy_faults(result)}
    if "product" in result["arms"]:
        figures["over_product"] = 1 / result["arms"]["product"]["over_tilewright"]["median"]
        figures["product_fit"] = result.get("product", {}).get("fit", "exact")
        if "copy" in result["arms"] and result["copy"]["tuned"]:
            # Half of a copy's bytes are written.
            figures["over_bound"] = 1 / sum(share * result["arms"][arm]["over_tilewright"]["median"]
                                            for arm, share in (("product", 1), ("copy", 0.5)))
    if "unfused" in result:
        figures["unfused_fits"] = result["unfused"]["fits"]
    if result["op"] in ("attention", "attention_bwd"):
        figures |= _attention(result)
    share = report.share_of_ceiling(result)
    if "flops" in result:
        return figures | {"tflops": result["flops"] / ours / 1e3} | ({"share_of_ceiling": share} if share else {})
    return figures | {"gb_per_s": result["bytes"] / ours, "share_of_ceiling": share}


def decode_figures(result):
    """Of a result of compare_decode.py."""
    arms = result["arms"]
    ours = arms["tilewright"]["median"]
    wrong = {name: f"its output is another one: error {error:.1e}" for name, error in result["errors"].items()
             if name != "tilewright" and not error < verdicts.SAME}
    peers = {name: arm["median"] for name, arm in arms.items() if name != "tilewright" and name not in wrong}
    fastest = min(peers, key=peers.get) if peers else None
    over = fastest and arms[fastest]["over_tilewright"]
    best = min((result["errors"][name] for name in peers), default=None)
    return {**{name: result[name] for name in ("kind", "batch", "heads", "tokens", "page")}, "ns": ours,
            "peers_ns": peers, "fastest": fastest, "over_fastest": over and [over["median"], over["low"], over["high"]],
            "no_verdict": {**result["skipped"], **wrong}, "fit": result["fit"],
            "implementation": result["served"].split("{")[0],
            "gb_per_s": result["bytes"] / ours,
            "error_over_best": result["errors"]["tilewright"] / best if best else None}


def varlen_figures(result):
    """Of a result of compare_varlen.py."""
    return {name: result[name] for name in ("d", "most", "causal", "tokens", "ns", "tflops", "fit", "error")} | {
        "implementation": result["served"]["varlen"].split("{")[0]}


def deterministic_figures(result):
    """Of a result of compare_deterministic.py."""
    return {name: result[name] for name in ("d", "b", "s", "causal", "ns", "ratio", "same", "apart", "fit", "served")}


def figures(results):
    versions = {name: results[0][name] for name in ("torch", "triton", "cuda") if name in results[0]}
    figures_of = {"decode": decode_figures, "varlen": varlen_figures,
                  "deterministic": deterministic_figures}.get(part_of(results[0]), cell_figures)
    return {"versions": versions, "cells": [figures_of(result) for result in results]}


def _the_one(results, name):
    values = sorted({result.get(name, "unknown") for result in results})
    if len(values) > 1:
        raise ValueError(f"the results are of several {name}s ({', '.join(values)}); a page is of one")
    return values[0]


def make(results):
    """The record of all results of one page, which are of one commit and one device. Raises ValueError."""
    parts = sorted({part_of(result) for result in results})
    if len(parts) != 1:
        raise ValueError(f"the results are of several pages ({', '.join(parts)}); choose one by --op")
    in_order = sorted(results, key=lambda result: result.get("measured_at", 0))
    last = in_order[-1].get("measured_at", 0)
    return {"part": parts[0], "commit": _the_one(results, "commit"), "device": _the_one(results, "gpu"),
            "driver": _the_one(results, "driver"), "cores": in_order[-1].get("cores"), "brief": False,
            "date": datetime.datetime.fromtimestamp(last, datetime.timezone.utc).date().isoformat(),
            "seconds": round(sum(result.get("seconds", 0) for result in results)),
            "commands": list(dict.fromkeys(result.get("command", "unknown") for result in in_order)), "missing": [],
            "figures": figures(results)}


def write(path, record):
    pathlib.Path(path).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
