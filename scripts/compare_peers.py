#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Tilewright's row and elementwise ops against torch (eager and compiled), Triton, Liger and QuACK: alternately
in one process, on the same random tensors, with cold caches. Checks the results of each against float64. With --op gemm
matrix products, and their peers are torch (cuBLAS), cuBLASLt's epilogues, torch.compile, Triton and QuACK. With --op
attention, or attention_bwd, attention or its gradients, and the peers are cuDNN and FlashAttention 2, both through
torch, FlashAttention 4 and, forward, Triton. With --op gemm_dropout, gemm_gated, gemm_add_rmsnorm, gemm_add_layernorm
or mlp what is a product and more, and the peers are torch (eager and compiled), Triton, QuACK, and the chain of our own
ops (unfused), which the cache should have, too.

A peer that has the op and gives no right time, be it that its package is not installed, leaves the cell without a
verdict: nothing is said to beat it. --peers names those that are asked for.

    scripts/compare_peers.py --cache winners.db --out comparison       measure what is not there yet, with --resume
    scripts/compare_peers.py --report comparison --format markdown      print the tables
    scripts/compare_peers.py --report comparison --json rows.json       what scripts/benchmark report makes a page from
    scripts/compare_peers.py --op gemm --sets plain,epilogue --out products
    scripts/compare_peers.py --op gemm --only '^gemm-layout=nt-bf16' --shapes 8192x8192x8192 --regime sustained \\
        --out products
    scripts/compare_peers.py --op gemm --off-beaten 61 --list     60 shapes that no large tile divides, drawn by 61

Products and attention are timed in one of two regimes. In burst the GPU rests after each round twice as long as the
round took, so that it stays below its power limit; in sustained it has worked for a second before, and never rests. A
result of each may be in one folder.

It needs a GPU, torch and Triton for measuring, and none of them for --report and --list. One JSON file a cell is
written; each has the commit, the GPU and every round in it.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

from peers import attention_bwd_cells, attention_cells, fused_cells, gemm_cells, probe, record, report
from peers import cells as cells_of
from peers import warm as warming
from peers.registry import PEERS
from peers.verdicts import accuracy_faults, fastest_peer, without_verdict

# Ops that compute without a pause, by the module of their cells.
IN_REGIMES = {"gemm": gemm_cells, "attention": attention_cells, "attention_bwd": attention_bwd_cells,
              **fused_cells.BY_OP}


def say(text):
    print(f"compare_peers: {text}", file=sys.stderr, flush=True)


def parse_share(text):
    """I/N: the I-th of N equal parts."""
    try:
        index, of = (int(part) for part in text.split("/"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no part; write I/N, such as 0/4") from None
    if not 0 <= index < of:
        raise argparse.ArgumentTypeError(f"'{text}': I goes from 0 to N-1")
    return index, of


def positive(text):
    value = int(text) if text.isdigit() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number of 1 or more")
    return value


def peers(text):
    chosen = text.split(",")
    for name in chosen:
        if name not in PEERS:
            raise argparse.ArgumentTypeError(f"'{name}' is no peer; there are {', '.join(PEERS)}")
    return chosen


def cells_for(options):
    """Of all ops that are asked for. Without --op these are the row and elementwise ops."""
    def split(text):
        return text.split(",") if text else None
    ops, dtypes, shapes, sets = map(split, (options.op, options.dtype, options.shapes, options.sets))
    chosen = []
    others = [op for op in ops if op not in IN_REGIMES] if ops else None
    if others != []:
        chosen += cells_of.make_cells(dtypes or ["bf16"], shapes, options.only, others)
    in_regimes = [op for op in ops or [] if op in IN_REGIMES]
    if options.draws > 1 and ops != ["attention"]:
        raise ValueError("--draws is for --op attention alone")
    if options.off_beaten is not None:
        if ops != ["gemm"] or options.shapes or options.dtype:
            raise ValueError("--off-beaten is for --op gemm alone, and draws shapes of its own, in bf16")
        return gemm_cells.drawn_cells(options.off_beaten, sets, options.only)
    for op in in_regimes:
        chosen += IN_REGIMES[op].make_cells(dtypes, shapes, options.only, sets)
    if not in_regimes and (options.sets or options.regime):
        raise ValueError("--sets and --regime are for --op gemm, --op attention, --op attention_bwd and fused products")
    return chosen


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", help="the cache with the winners; default as for tilewright")
    parser.add_argument("--library", help="libtilewright.so; default: in ../lib, or in a build folder")
    parser.add_argument("--out", default="comparison", help="folder of the results (default: comparison)")
    parser.add_argument("--op", help="only these ops, such as softmax,rmsnorm, or gemm, attention, mlp "
                        "(default: all that are no products)")
    parser.add_argument("--dtype", help="types, such as bf16,f32 (default: bf16; of gemm those of its sets)")
    parser.add_argument("--shapes", help="instead of the built-in list: 8192x4096,4093x1000; of gemm MxNxK, of "
                        "attention BxS, of mlp ROWSxDxHIDDENxD_OUT")
    parser.add_argument("--sets", help=f"of gemm: {','.join(gemm_cells.SETS)}; of attention: "
                        f"{','.join(attention_cells.SETS)} (default: all)")
    parser.add_argument("--off-beaten", type=int, metavar="SEED", help="of gemm: 60 shapes drawn by this seed, which "
                        "large tiles do not divide; --sets plain (default), epilogue or both")
    parser.add_argument("--regime", choices=("burst", "sustained"), help="of gemm and attention (default: burst)")
    parser.add_argument("--peers", type=peers, default=list(PEERS),
                        help=f"only these: {','.join(PEERS)} (default: all)")
    parser.add_argument("--only", help="only cells whose name this expression matches somewhere; see --list")
    parser.add_argument("--resume", action="store_true", help="leave out cells that have a result of this commit")
    parser.add_argument("--rounds", type=positive, default=25, help="rounds of each arm (default: 25)")
    parser.add_argument("--draws", type=positive, default=1, metavar="N", help="of attention: errors are means over "
                        "so many draws of the inputs (default: 1)")
    parser.add_argument("--round-ms", type=float, help="length of a round (default: 1; of gemm and attention 2)")
    parser.add_argument("--warm", type=positive, metavar="N", help="compile first, with N processes")
    parser.add_argument("--warm-seconds", type=positive, default=300, help="so long at most (default: 300)")
    parser.add_argument("--gpus", type=positive, default=1, help="cells are spread over so many; each is on one")
    parser.add_argument("--commit", help="to be written into the results; default: found")
    parser.add_argument("--list", action="store_true", help="print the names of the cells and end")
    parser.add_argument("--report", metavar="DIR", help="print the tables of the results there and end")
    parser.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="of the report")
    parser.add_argument("--json", metavar="FILE", help="write what scripts/benchmark report makes a page from, such as "
                        "docs/benchmarks/attention.json: of --op's results in --out, or in --report's folder")
    parser.add_argument("--warm-worker", type=parse_share, help=argparse.SUPPRESS)
    parser.add_argument("--share", type=parse_share, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    try:
        options.cells = cells_for(options)
    except Exception as error:  # of an op, a shape, a dtype, a set or the expression
        parser.error(str(error))
    options.regime = options.regime or "burst"
    return options


def is_sustained(options, cell):
    return cell.op in IN_REGIMES and options.regime == "sustained"


def keys_of(words):
    """What tells the results apart that these words ask for: the name of a cell, and whether it is in sustained."""
    options = parse(words)
    return {(cell.name, is_sustained(options, cell)) for cell in options.cells}


def result_file(options, cell):
    suffix = "-sustained" if is_sustained(options, cell) else ""
    return pathlib.Path(options.out) / f"{cell.name}{suffix}.json"


def is_done(options, cell):
    try:
        return json.loads(result_file(options, cell).read_text(encoding="utf-8"))["commit"] == options.commit
    except (OSError, ValueError, KeyError, TypeError):
        return False


def write(path, result):
    """Whole or not at all."""
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    os.replace(fresh, path)


def measure_all(options, folder):
    """In this process, on the first GPU that it sees. Returns how many cells failed."""
    import torch

    from peers import attention_measure, backward_measure, fused_measure, gemm_measure, library, measure
    warming.configure_torch()
    torch.cuda.init()
    launcher = library.Launcher(library.find_library(options.library), options.cache)
    kinds = {"gemm": gemm_measure.GemmMeasurer, "attention": attention_measure.AttentionMeasurer,
             "attention_bwd": attention_measure.AttentionBwdMeasurer,
             **dict.fromkeys(fused_cells.DIMS, fused_measure.FusedMeasurer),
             **dict.fromkeys(cells_of.BACKWARD, backward_measure.BackwardMeasurer)}
    measurers = {}
    facts = {"commit": options.commit, "command": options.command, "tilewright": launcher.version,
             **measure.describe_gpu()}
    failed = 0
    for index, cell in enumerate(options.cells, 1):
        began = time.monotonic()
        kind = kinds.get(cell.op, measure.Measurer)
        if kind not in measurers:
            measurers[kind] = kind(options, warming.Warm(folder), launcher)
        measurer = measurers[kind]
        try:
            result = {**facts, **measurer.run(cell), "measured_at": int(time.time())}
            write(result_file(options, cell), result)
            fastest = fastest_peer(result)
            words = f"{fastest[1]:.3f} of {fastest[0]}" if fastest else "no peer"
            words += "".join(f"; no verdict, {peer}: {why}" for peer, why in without_verdict(result).items())
            say(f"{index}/{len(options.cells)} {cell.name}: {words}, {time.monotonic() - began:.1f} s"
                + "".join(f"; {fault}" for fault in accuracy_faults(result)))
        except Exception as error:
            failed += 1
            say(f"{index}/{len(options.cells)} {cell.name}: {type(error).__name__}: {error}")
            torch.cuda.synchronize()  # ends here if the context is lost
        measurer.release()
    return failed


def measure_on_gpus(command, gpus):
    """One process a GPU. Returns how many did not end well."""
    seen = probe.gpus_of(gpus)
    processes = [subprocess.Popen([*command, "--share", f"{index}/{len(seen)}"],
                                  env=dict(os.environ, CUDA_VISIBLE_DEVICES=gpu)) for index, gpu in enumerate(seen)]
    return sum(process.wait() != 0 for process in processes)


def write_record(folder, options):
    """Of the ops that are asked for. Returns whether there was anything to write."""
    try:
        ops = options.op.split(",") if options.op else None
        results = [result for result in report.load(folder) if ops is None or result["op"] in ops]
        if results:
            record.write(options.json, record.make(results))
    except ValueError as error:
        say(str(error))
        return False
    say(f"{options.json}: {len(results)} cells" if results else f"there is no such result in {folder}")
    return bool(results)


def main(words):
    options = parse(words)
    options.command = record.shown(__file__, words)
    if options.list:
        print("\n".join(cell.name for cell in options.cells))
        return 0
    if options.report and options.json:
        return 0 if write_record(options.report, options) else 1
    if options.report:
        try:
            results = report.load(options.report)
        except ValueError as error:
            say(str(error))
            return 1
        if not results:
            say(f"there is no result in {options.report}")
            return 1
        print(report.render(results, options.format), end="")
        return 0

    options.commit = options.commit or record.find_commit()
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    stamps = out / "warm" / "stamps"
    warming.share_disk_caches(out / "warm")
    if options.resume:
        options.cells = [cell for cell in options.cells if not is_done(options, cell)]
    part = options.warm_worker or options.share
    if part:
        options.cells = options.cells[part[0]::part[1]]
    if options.warm_worker:
        warming.work(options.cells, warming.Warm(stamps), options.peers)
        return 0
    drawn = "" if options.off_beaten is None else f", drawn by seed {options.off_beaten}"
    say(f"{len(options.cells)} cells{drawn}")
    # The same words again, but for what only this process does.
    command = [sys.executable, str(pathlib.Path(__file__).resolve()), *words, "--commit", options.commit]
    if options.warm and not options.share:
        stamps.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        ended, half = warming.run(command, options.warm, options.warm_seconds, out / "warm" / "logs", options.gpus)
        say(f"compiled for {time.monotonic() - began:.0f} s; {ended} of {options.warm} processes ended, half of them "
            f"within {half:.0f} s")
    if options.gpus > 1 and not options.share:
        failed = measure_on_gpus(command, options.gpus)
    else:
        failed = measure_all(options, stamps if options.warm else None)
    if options.json and not options.share:
        failed += not write_record(out, options)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
