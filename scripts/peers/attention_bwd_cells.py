# SPDX-License-Identifier: Apache-2.0
"""The cells of `attention_bwd`: two head sizes, with and without a causal mask, over sequences."""
import dataclasses
import math

from . import attention_cells
from .attention_cells import Argument

SETS = ["main"]
SEQUENCES = [(8, 1024), (4, 2048), (2, 8192)]  # (b, sq = sk)
HEADS = (16, 16)  # hq, hkv
SAMPLED_HEADS = 16


@dataclasses.dataclass(frozen=True)
class AttentionBwdCell(attention_cells.AttentionCell):
    op = "attention_bwd"

    @property
    def attributes(self):
        return (("causal", "yes" if self.causal else "no"), ("window", "no"), ("softcap", "no"),
                ("deterministic", "no"))

    def arguments(self):
        """In the order of a call: dense tensors [b, s, heads, columns]."""
        q, k = (self.b, self.s, self.hq, self.d), (self.b, self.s, self.hkv, self.d)
        v, o = (self.b, self.s, self.hkv, self.dv), (self.b, self.s, self.hq, self.dv)
        given = {"q": q, "k": k, "v": v, "o": o, "do": o}
        made = {"dq": q, "dk": k, "dv": v}
        strides = [Argument(f"{name}_{dim}", "scalar", kind="i64", value=math.prod(shape[i + 1:]))
                   for name, shape in {**given, **made}.items() for i, dim in enumerate(("batch", "token", "head"))]
        return [*(Argument(name, "in", shape) for name, shape in given.items()),
                Argument("lse", "in", (self.b, self.hq, self.s), type="f32"),
                *(Argument(name, "out", shape) for name, shape in made.items()),
                Argument("scale", "scalar", kind="f32", value=self.scale), *strides]

    @property
    def bytes(self):
        """Each tensor once."""
        return super().bytes + self.b * self.hq * self.s * (4 - attention_cells.ELEMENT_BYTES)

    @property
    def flops(self):
        """Of five products."""
        return self.b * self.hq * self.s * self.s * (6 * self.d + 4 * self.dv) // (2 if self.causal else 1)


def sampled_heads(cell):
    """The (batch, head) that are compared with float64."""
    every = [(batch, head) for batch in range(cell.b) for head in range(cell.hq)]
    step = max(1, len(every) // SAMPLED_HEADS)
    return every[::step]


def variants():
    """As attention_cells.variants."""
    for d in (64, 128):
        yield "main", d, d, SEQUENCES


def make_cells(dtypes=None, shapes=None, only=None, sets=None):
    """As attention_cells.make_cells."""
    return attention_cells.choose(AttentionBwdCell, variants(), [HEADS], SETS, dtypes, shapes, only, sets)
