# SPDX-License-Identifier: Apache-2.0
"""A model of torch with Tilewright's kernels: its norms and linear layers are swapped, and it is trained, compiled.
    python3 main.py        the cache is $TILEWRIGHT_CACHE, else the user's and the shipped winners"""
import sys

import torch
from torch import nn

import tilewright.torch as tw


class Layer(nn.Module):
    def __init__(self, cols: int, hidden: int):
        super().__init__()
        self.norm = nn.RMSNorm(cols, eps=1e-6)
        self.gate_proj, self.up_proj = nn.Linear(cols, hidden, bias=False), nn.Linear(cols, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, cols, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        return x + self.down_proj(tw.swiglu(self.gate_proj(y), self.up_proj(y)))


def main() -> int:
    model = nn.Sequential(Layer(4096, 11008), Layer(4096, 11008), nn.LayerNorm(4096)).cuda().bfloat16()
    for layer in tw.swap(model):
        print(layer)
    x = torch.randn(4, 512, 4096, device="cuda", dtype=torch.bfloat16)
    compiled = torch.compile(model, fullgraph=True)
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    losses = []
    for _ in range(3):
        loss = compiled(x).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    print("losses:", *(f"{loss:.4f}" for loss in losses))
    return 0 if losses[-1] < losses[0] else 1


if __name__ == "__main__":
    sys.exit(main())
