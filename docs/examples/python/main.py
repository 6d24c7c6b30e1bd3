# SPDX-License-Identifier: Apache-2.0
"""The launch library from Python, with torch: an RMS norm by the fastest kernel the cache knows, checked against
torch's own.
    python3 main.py [ROWS COLS]        the cache is $TILEWRIGHT_CACHE, else the user's"""
import sys

import torch

import tilewright


def main(rows: int = 4096, cols: int = 8192) -> int:
    x = torch.randn(rows, cols, device="cuda", dtype=torch.bfloat16)
    weight = torch.randn(cols, device="cuda", dtype=torch.bfloat16)
    y = torch.empty_like(x)

    rmsnorm = tilewright.op("rmsnorm", dtype=x.dtype)
    served = rmsnorm.match(rows=rows, cols=cols)
    print(f"rmsnorm of {rows} x {cols} in bf16 on {served.device}")
    print(f"served: {served.config} ({served.match})")
    rmsnorm(x, weight, y, 1e-6)  # on torch's current stream; dims are told from the shapes

    # Into a graph as any other kernel.
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        rmsnorm(x, weight, y, 1e-6)
    graph.replay()

    expected = torch.nn.functional.rms_norm(x.double(), (cols,), weight.double(), 1e-6)
    error = ((y.double() - expected).abs() / (1e-3 + 8e-3 * expected.abs())).max().item()
    print(f"max error: {error:.3f} of what is allowed, {'right' if error <= 1 else 'WRONG'}")
    return 0 if error <= 1 else 1


if __name__ == "__main__":
    try:
        sys.exit(main(*map(int, sys.argv[1:3])))
    except tilewright.Error as error:
        sys.exit(f"error: {error}")
