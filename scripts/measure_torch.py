#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the host time of a call with torch's tensors, beside eager torch and Triton, on a GPU host with both.

    TILEWRIGHT_CACHE=winners.db scripts/measure_torch.py
    TILEWRIGHT_CACHE=winners.db scripts/measure_torch.py --calls 500 --rounds 41 --format json

Tensors are small (8 x 1024 in bf16), so that the GPU waits for the host. A round queues the calls of one way one after
another and is timed to the last one's return; rounds of all ways take turns. Prints the median of the rounds, an op a
line, in microseconds a call:

  eager      torch's own op
  triton     a kernel of Triton's that does the same, its output allocated by torch.empty_like
  function   tilewright.torch.OP(...)
  gradient   the same with an input that requires a gradient
  ops        torch.ops.tilewright.OP.default(...), through torch's dispatcher
  out        tilewright.torch.OP(..., out=y)
  launch     tilewright.op("OP", dtype="bf16")(..., y): no output to allocate, no torch beside its tensors
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "python"), str(ROOT / "cache" / "launch" / "python")]

ROWS, COLS = 8, 1024


def triton_ways(torch, x, w):
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return {}

    @triton.jit
    def rmsnorm(x, w, y, eps, cols, block: tl.constexpr):
        at = tl.arange(0, block)
        row = tl.program_id(0) * cols
        value = tl.load(x + row + at, at < cols, 0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(value * value) / cols + eps)
        tl.store(y + row + at, (value * scale * tl.load(w + at, at < cols, 0)).to(y.dtype.element_ty), at < cols)

    @triton.jit
    def softmax(x, y, cols, block: tl.constexpr):
        at = tl.arange(0, block)
        row = tl.program_id(0) * cols
        value = tl.load(x + row + at, at < cols, -float("inf")).to(tl.float32)
        value = tl.exp(value - tl.max(value))
        tl.store(y + row + at, (value / tl.sum(value)).to(y.dtype.element_ty), at < cols)

    def call_rmsnorm():
        y = torch.empty_like(x)
        rmsnorm[(ROWS,)](x, w, y, 1e-6, COLS, block=1024)
        return y

    def call_softmax():
        y = torch.empty_like(x)
        softmax[(ROWS,)](x, y, COLS, block=1024)
        return y

    return {"rmsnorm": call_rmsnorm, "softmax": call_softmax}


def ways():
    """Of each op the ways to call it, by name."""
    import torch

    import tilewright
    import tilewright.torch as tw

    def tensor(*shape):
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)

    f, x, w, y = torch.nn.functional, tensor(ROWS, COLS), tensor(COLS), tensor(ROWS, COLS)
    weight = tensor(COLS, COLS)
    triton = triton_ways(torch, x, w)

    def of(op, eager, *args, **attributes):
        with_gradient = [args[0].clone().requires_grad_(), *args[1:]]
        launch, function, packet = tilewright.op(op, dtype="bf16"), getattr(tw, op), getattr(torch.ops.tilewright, op)
        tensors = [each for each in args if isinstance(each, torch.Tensor)]
        passed = [*tensors, y, *args[len(tensors):]]
        found = {"eager": eager, "triton": triton.get(op), "function": lambda: function(*args),
                 "gradient": lambda: function(*with_gradient), "ops": lambda: packet.default(*args),
                 "out": lambda: function(*args, out=y), "launch": lambda: launch(*passed)}
        expected = eager().double()
        for name, call in found.items():
            y.fill_(float("nan"))  # what the last call wrote is no answer of this one
            result = call() if call else None
            error = 0 if call is None else ((y if result is None else result).double() - expected).norm()
            assert error <= 1e-2 * expected.norm(), f"{op} by {name} is wrong"
        return op, {name: call for name, call in found.items() if call}

    yield of("softmax", lambda: torch.softmax(x, 1), x)
    yield of("rmsnorm", lambda: f.rms_norm(x, (COLS,), w, 1e-6), x, w, 1e-6)
    yield of("gemm", lambda: f.linear(x, weight), x, weight)


def measure(calls, rounds, each):
    import torch
    times = {name: [] for name in calls}
    for round_ in range(rounds + 2):
        for name, call in calls.items():
            torch.cuda.synchronize()
            began = time.perf_counter_ns()
            for _ in range(each):
                call()
            taken = (time.perf_counter_ns() - began) / each / 1e3
            if round_ >= 2:  # the first are for what is made once
                times[name].append(taken)
    return {name: statistics.median(taken) for name, taken in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=200, help="calls a round; default: 200")
    parser.add_argument("--rounds", type=int, default=21, help="rounds; default: 21")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    options = parser.parse_args()
    import torch
    if not torch.cuda.is_available():
        sys.exit("measure_torch.py: there is no GPU")
    os.environ.setdefault("TILEWRIGHT_MISSES", "off")
    found = {op: measure(calls, options.rounds, options.calls) for op, calls in ways()}
    if options.format == "json":
        print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__, "us": found}))
        return
    names = list(dict.fromkeys(name for times in found.values() for name in times))
    print(f"host time of a call in µs, {torch.cuda.get_device_name()}, torch {torch.__version__}\n")
    print("op        " + "".join(f"{name:>10}" for name in names))
    for op, times in found.items():
        print(f"{op:10}" + "".join(f"{times[name]:10.2f}" if name in times else f"{'':10}" for name in names))


if __name__ == "__main__":
    main()
