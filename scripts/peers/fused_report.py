# SPDX-License-Identifier: Apache-2.0
"""The part of a report that is about ops that are a product and more, a regime at a time: a line a cell with the time
of each arm."""
from . import registry
from .fused_cells import DIMS
from .gemm_report import REGIMES, device_of, rate_of, served_of
from .verdicts import (
    accuracy_faults,
    common_lists,
    fastest_peer,
    label,
    lists,
    name_of,
    summary_of,
    table_of,
)


def summarise(results):
    """Of one regime."""
    return summary_of(results)


def _errors(result, output):
    both = [result.get("accuracy", {}).get(who, {}) for who in ("ours", "eager")]
    return " / ".join(f"{errors[output]['rms']:.3g}" for errors in both if output in errors)


def _row(result, peers):
    fastest = fastest_peer(result)
    times = [f"{result['arms'][arm]['median'] / 1e3:.2f}" if arm in result["arms"] else "-"
             for arm in ["tilewright", *peers]]
    return [label(result), result["dtype"], "x".join(str(result[name]) for name in DIMS[result["op"]]), *times,
            rate_of(result, "tilewright"), f"{result['bytes'] / result['arms']['tilewright']['median']:.0f}",
            f"{fastest[1]:.3f} ±{(fastest[3] - fastest[2]) / 2:.3f}" if fastest else "-", name_of(result, fastest),
            *device_of(result), served_of(result), _errors(result, "c" if result["op"] == "gemm_dropout" else "y"),
            "bad" if accuracy_faults(result) else "good"]


NOTE = ("Times in µs. Medians of rounds in which all of a row were timed alternately; ratios are medians of per-round "
        "ratios. Unfused is the chain of our own ops. In brackets is the fastest where a peer that should be there is "
        "not: no verdict.")


def text(regime, results, form):
    """The parts of a report in words."""
    summary = summarise(results)
    table = table_of(form)
    peers = registry.columns(results)
    titles = [registry.PEERS[peer].title for peer in peers]
    parts = [f"Products and more, {regime} ({REGIMES[regime]}): {summary['cells']} cells on "
             f"{', '.join(summary['gpus'])}, commit {', '.join(summary['commits'])}", NOTE,
             table(["op", "dtype", "shape", "tilewright", *titles, "TFLOP/s", "GB/s", "fastest peer / ours", "it is",
                    "MHz", "W", "served", "rms ours / eager", "accuracy"], [_row(result, peers) for result in results])]
    slower = [f"{cell}: {ratio:.3f}" for cell, ratio in summary["slower_than_a_peer"].items()]
    return parts + lists([("Slower than a peer", slower)] + common_lists(summary))
