#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long Tilewright and Triton's autotuner take to a winner, on the same GPU, with equal numbers of configs and
nothing compiled before.

    scripts/compare_tuners.py             softmax with 6 configs, gemm with 12; three turns of each, alternating
    scripts/compare_tuners.py --turns 5 --program build/dev/bin/tilewright
    scripts/compare_tuners.py --budget 90 --out turns.json      no turn begins later; --out has those that ended

Triton's clock runs in a process that has a CUDA context and its tensors, from the first call of the autotuned kernel to
its end; its cache folder is new. Tilewright's cache is new, too; its clock runs from the moment when `tilewright sweep`
has opened the GPU to that when it says that the winner is committed. `whole process` is all of `tilewright sweep`, with
the start of its processes, the making of a context, and their end. It needs a GPU, torch and Triton.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CASES = {
    "softmax": {"words": ["softmax", "--dtype", "bf16", "rows=8192", "cols=4096"], "configs": 6},
    "gemm": {"words": ["gemm", "--dtype", "bf16", "m=4096", "n=4096", "k=4096"], "configs": 12},
}


def tune_softmax():
    """A function that calls the autotuned kernel, and the autotuner."""
    import torch
    import triton

    from peers.triton_rows import softmax_block
    rows, cols = 8192, 4096
    x = torch.randn(rows, cols, device="cuda", dtype=torch.bfloat16)
    y = torch.empty_like(x)
    configs = [triton.Config({"BLOCK": cols}, num_warps=warps) for warps in (1, 2, 4, 8, 16, 32)]
    tuner = triton.autotune(configs=configs, key=["cols"])(softmax_block)
    return lambda: tuner[(rows,)](x, y, cols), tuner


def tune_gemm():
    import torch
    import triton

    from peers.triton_gemm import GROUP_M, TILES, matmul
    size = 4096
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    c = torch.empty_like(a)
    configs = [triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}, num_stages=stages, num_warps=warps)
               for m, n, k, stages, warps in TILES]
    tuner = triton.autotune(configs=configs, key=["m", "n", "k"])(matmul)

    def grid(meta):
        return (triton.cdiv(size, meta["BLOCK_M"]) * triton.cdiv(size, meta["BLOCK_N"]),)

    return lambda: tuner[grid](a, b, c, c, c, size, size, size, size, 1, 1, size, 0.0, 0, BIAS=False, ACT="none",
                               DROP=False, RESIDUAL=False, PRECISION="ieee", GROUP_M=GROUP_M), tuner


def triton_turn(case):
    """In a process of its own: times one autotuning, says it on standard output."""
    import torch
    import triton
    sys.path.insert(0, str(HERE))
    call, tuner = {"softmax": tune_softmax, "gemm": tune_gemm}[case]()
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    kernel_us = triton.testing.do_bench(call, return_mode="median") * 1e3
    print(json.dumps({"seconds": seconds, "configs": len(tuner.configs), "winner": str(tuner.best_config),
                      "kernel_us": kernel_us}))


def child(*words, **environment):
    done = subprocess.run([sys.executable, __file__, *words], env=os.environ | environment, stdout=subprocess.PIPE,
                          check=False)
    if done.returncode:
        sys.exit(f"compare_tuners: the process of Triton ended with {done.returncode}; it says why above")
    return json.loads(done.stdout.splitlines()[-1])


def tilewright_turn(program, case, folder, extra):
    words = [program, "sweep", *CASES[case]["words"], "--cache", f"{folder}/cache.db", "--no-ceilings", *extra]
    start = time.perf_counter()
    lines = []
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            lines.append((time.perf_counter(), line.strip()))
    whole = time.perf_counter() - start
    opened = [at for at, line in lines if line.startswith("device: ")]
    # The line of the problem with its winner; the one before tells how many configs it has.
    won = [(at, line) for at, line in lines if line.startswith("[") and " 1/1 " in line and " configs, " not in line]
    if process.returncode or not opened or not won:
        text = "\n".join(line for _, line in lines)
        sys.exit(f"compare_tuners: `{' '.join(words)}` ended with {process.returncode}:\n{text}")
    return {"seconds": won[-1][0] - opened[0], "whole_process_s": whole, "winner": won[-1][1], "summary": lines[-1][1]}


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(HERE.parent / "bin/tilewright"),
                        help="default: that of the bundle with this script")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--budget", type=float, help="seconds after which no turn begins (default: no bound)")
    parser.add_argument("--only", choices=list(CASES))
    parser.add_argument("--whole", action="store_true", help="time Tilewright with its whole space, too")
    parser.add_argument("--out", help="write all of it as JSON")
    parser.add_argument("--turn", choices=list(CASES), help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.turn:
        return triton_turn(options.turn)
    if not os.access(options.program, os.X_OK):
        sys.exit(f"compare_tuners: there is no program {options.program}; name it by --program")
    results, began = {}, time.monotonic()
    for case in [options.only] if options.only else CASES:
        turns = results[case] = {"triton": [], "tilewright": [], "whole": []}
        few = ["--max-configs", str(CASES[case]["configs"])]
        for number in range(options.turns):
            if options.budget and time.monotonic() - began > options.budget:
                print(f"compare_tuners: {case}: {number} of {options.turns} turns within --budget {options.budget:g}",
                      file=sys.stderr)
                break
            with tempfile.TemporaryDirectory() as folder:
                turns["triton"].append(child("--turn", case, TRITON_CACHE_DIR=f"{folder}/triton"))
                turns["tilewright"].append(tilewright_turn(options.program, case, folder, few))
            if options.whole:
                with tempfile.TemporaryDirectory() as folder:
                    turns["whole"].append(tilewright_turn(options.program, case, folder, []))
            last = ", ".join(f"{arm} {made[-1]['seconds']:.2f} s" for arm, made in turns.items() if made)
            print(f"compare_tuners: {case}, turn {number + 1}: {last}", file=sys.stderr, flush=True)
            if options.out:
                pathlib.Path(options.out).write_text(json.dumps(results, indent=1))
        if not turns["tilewright"]:
            continue
        median = {arm: statistics.median(turn["seconds"] for turn in made) for arm, made in turns.items() if made}
        print(f"{case}, {CASES[case]['configs']} configs: "
              f"Triton {median['triton']:.2f} s, Tilewright {median['tilewright']:.2f} s: "
              f"{median['triton'] / median['tilewright']:.1f} times as fast; whole process "
              f"{statistics.median(turn['whole_process_s'] for turn in turns['tilewright']):.2f} s" +
              (f"; all of its configs {median['whole']:.2f} s" if options.whole else ""))
        print(f"  Triton's winner {turns['triton'][-1]['winner']}, "
              f"{turns['triton'][-1]['kernel_us']:.1f} us by do_bench\n"
              f"  Tilewright: {turns['tilewright'][-1]['winner']}\n  {turns['tilewright'][-1]['summary']}")


if __name__ == "__main__":
    main(sys.argv[1:])
