#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long Tilewright and Triton's autotuner take to a winner, on the same GPU, with equal numbers of configs and nothing compiled before.

    scripts/compare_tuners.py                         softmax with 6 configs, gemm with 12; three turns of each, alternating
    scripts/compare_tuners.py --turns 5 --program build/dev/bin/tilewright

Triton's clock runs in a process that has a CUDA context and its tensors, from the first call of the autotuned kernel to its
end; its cache folder is new. Tilewright's runs over a whole process of `tilewright sweep` with a new cache, from its start to its end
with the winner committed; so it holds the start of processes and the making of a context, too. `context` is what a process takes to make
one: for times that compare, take it off Tilewright's. It needs a GPU, torch and Triton.
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
    grid = lambda meta: (triton.cdiv(size, meta["BLOCK_M"]) * triton.cdiv(size, meta["BLOCK_N"]),)
    return lambda: tuner[grid](a, b, c, c, c, size, size, size, size, 1, 1, size, BIAS=False, ACT="none",
                               RESIDUAL=False, PRECISION="ieee", GROUP_M=GROUP_M), tuner


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
    print(json.dumps({"seconds": seconds, "configs": len(tuner.configs), "winner": str(tuner.best_config), "kernel_us": kernel_us}))


def context_turn():
    """In a process of its own: times the making of a CUDA context."""
    import ctypes
    start = time.perf_counter()
    cuda = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    for error in (cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)):
        if error:
            sys.exit(f"compare_tuners: cannot make a CUDA context: error {error}; is there a GPU? try `tilewright doctor`")
    print(json.dumps({"seconds": time.perf_counter() - start}))


def child(*words, **environment):
    done = subprocess.run([sys.executable, __file__, *words], env=os.environ | environment, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"compare_tuners: a process of Triton or of the context ended with {done.returncode}; it says why above")
    return json.loads(done.stdout.splitlines()[-1])


def tilewright_turn(program, case, folder, extra):
    words = [program, "sweep", *CASES[case]["words"], "--cache", f"{folder}/cache.db", "--no-ceilings", "--quiet", "--format", "json", *extra]
    start = time.perf_counter()
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"compare_tuners: `{' '.join(words)}` ended with {done.returncode}:\n{done.stderr}")
    return {"seconds": seconds, "summary": done.stderr.strip().splitlines()[-1:], "table": json.loads(done.stdout)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(HERE.parent / "bin/tilewright"), help="default: that of the bundle with this script")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", choices=list(CASES))
    parser.add_argument("--whole", action="store_true", help="time Tilewright with its whole space, too")
    parser.add_argument("--out", help="write all of it as JSON")
    parser.add_argument("--turn", choices=["context", *CASES], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.turn:
        return context_turn() if options.turn == "context" else triton_turn(options.turn)
    if not os.access(options.program, os.X_OK):
        sys.exit(f"compare_tuners: there is no program {options.program}; name it by --program")
    results = {}
    for case in [options.only] if options.only else CASES:
        turns = results[case] = {"context": [], "triton": [], "tilewright": [], "whole": []}
        few = ["--max-configs", str(CASES[case]["configs"])]
        for _ in range(options.turns):
            with tempfile.TemporaryDirectory() as folder:
                turns["context"].append(child("--turn", "context"))
                turns["triton"].append(child("--turn", case, TRITON_CACHE_DIR=f"{folder}/triton"))
                turns["tilewright"].append(tilewright_turn(options.program, case, folder, few))
            if options.whole:
                with tempfile.TemporaryDirectory() as folder:
                    turns["whole"].append(tilewright_turn(options.program, case, folder, []))
        median = {arm: statistics.median(turn["seconds"] for turn in made) for arm, made in turns.items() if made}
        net = median["tilewright"] - median["context"]
        print(f"{case}, {CASES[case]['configs']} configs: Triton {median['triton']:.2f} s, Tilewright {median['tilewright']:.2f} s "
              f"with a context's {median['context']:.2f} s: {median['triton'] / median['tilewright']:.1f} and without "
              f"{median['triton'] / net:.1f} times as fast" +
              (f"; its whole space {median['whole']:.2f} s" if options.whole else ""))
        print(f"  Triton's winner {turns['triton'][-1]['winner']}, {turns['triton'][-1]['kernel_us']:.1f} us by do_bench; "
              f"Tilewright: {' '.join(turns['tilewright'][-1]['summary'])}")
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
