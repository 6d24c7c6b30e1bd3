# SPDX-License-Identifier: Apache-2.0
"""The cells of `attention`: head sizes, with and without a causal mask, over sequences and numbers of heads."""
import dataclasses
import itertools
import math
import re

ELEMENT_BYTES = 2
DTYPES = ("bf16", "f16")
SETS = ["main", "heads", "odd"]
SAMPLED_TOKENS = 128

SEQUENCES = [(8, 1024), (4, 2048), (2, 8192), (1, 16384)]  # (b, sq = sk)
HEADS = [(16, 16), (32, 8)]  # (hq, hkv)


@dataclasses.dataclass(frozen=True)
class Argument:
    name: str
    role: str  # in, out or scalar
    shape: tuple = ()
    kind: str = "tensor"  # of a scalar, its type
    value: float = 0
    type: str = "dtype"  # of a tensor

    def extents(self, _dims):
        return self.shape


@dataclasses.dataclass(frozen=True)
class AttentionCell:
    set: str
    causal: bool
    dtype: str
    b: int
    hq: int
    hkv: int
    s: int  # queries, and keys
    d: int
    dv: int

    op = "attention"

    @property
    def attributes(self):
        return (("causal", "yes" if self.causal else "no"), ("lse", "no"), ("window", "no"), ("softcap", "no"))

    @property
    def dims(self):
        return self.b, self.hq, self.hkv, self.s, self.s, self.d, self.dv

    call_dims = dims

    @property
    def head(self):
        return f"{self.d}" if self.d == self.dv else f"{self.d}/{self.dv}"

    @property
    def spec(self):
        """As the launch library takes it."""
        inside = ",".join(f"{name}={value}" for name, value in (("dtype", self.dtype),) + self.attributes)
        return f"{self.op}[{inside}]"

    @property
    def name(self):
        """One word, for files and for --only: attention-d128-causal-bf16-b4-h32x8-s2048"""
        head = self.head.replace("/", "x")
        mask = "causal" if self.causal else "full"
        return f"{self.op}-d{head}-{mask}-{self.dtype}-b{self.b}-h{self.hq}x{self.hkv}-s{self.s}"

    @property
    def scale(self):
        return 1 / math.sqrt(self.d)

    def arguments(self):
        """In the order of a call: dense tensors [b, s, heads, columns]."""
        shapes = {"q": (self.b, self.s, self.hq, self.d), "k": (self.b, self.s, self.hkv, self.d),
                  "v": (self.b, self.s, self.hkv, self.dv), "o": (self.b, self.s, self.hq, self.dv)}
        tensors = [Argument(name, "out" if name == "o" else "in", shape) for name, shape in shapes.items()]
        strides = [Argument(f"{name}_{dim}", "scalar", kind="i64", value=math.prod(shape[i + 1:]))
                   for name, shape in shapes.items() for i, dim in enumerate(("batch", "token", "head"))]
        return [*tensors, Argument("scale", "scalar", kind="f32", value=self.scale), *strides]

    @property
    def bytes(self):
        """Each tensor once."""
        return sum(math.prod(each.shape) for each in self.arguments() if each.role != "scalar") * ELEMENT_BYTES

    @property
    def flops(self):
        return 2 * self.b * self.hq * self.s * self.s * (self.d + self.dv) // (2 if self.causal else 1)

    def facts(self):
        """What a result says of the cell beside its name, attributes and type."""
        return {"set": self.set, "b": self.b, "hq": self.hq, "hkv": self.hkv, "s": self.s, "d": self.d, "dv": self.dv,
                "bytes": self.bytes, "flops": self.flops}

    @property
    def seed(self):
        return len(self.name) * 1000003 + self.s * 31 + self.d * 7 + self.hkv


def sampled_tokens(s):
    """The queries that are compared with float64: the first 32, the last 32, and between them as many, in all places
    of a tile."""
    if s <= SAMPLED_TOKENS:
        return list(range(s))
    quarter = SAMPLED_TOKENS // 4
    between = [round(quarter + i * (s - 1 - 2 * quarter) / (2 * quarter - 1)) for i in range(2 * quarter)]
    return sorted({*range(quarter), *between, *range(s - quarter, s)})


def variants():
    """(set, d, dv, sequences) of everything that is compared."""
    for d in (64, 128, 256):
        yield "main", d, d, SEQUENCES
    for d, dv in ((96, 96), (192, 128)):
        yield "heads", d, dv, [(4, 2048)]
    for d in (64, 128, 256):
        yield "odd", d, d, [(4, 3001)]


def parse_shape(text):
    match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", text)
    if not match:
        raise ValueError(f"'{text}' is no shape of attention; write BxS, such as 4x2048")
    return tuple(int(part) for part in match.groups())


def choose(kind, cells_of, heads, known_sets, dtypes, shapes, only, sets):
    """The cells of `cells_of`, as variants() has them, for all heads: see make_cells."""
    for dtype in dtypes or []:
        if dtype not in DTYPES:
            raise ValueError(f"'{dtype}' is no dtype of {kind.op}; there are {', '.join(DTYPES)}")
    for name in sets or []:
        if name not in known_sets:
            raise ValueError(f"'{name}' is no set of {kind.op}; there are {', '.join(known_sets)}")
    asked = [parse_shape(text) for text in shapes or []]
    pattern = re.compile(only or "")
    cells = {}
    for (name, d, dv, sequences), dtype, causal in itertools.product(cells_of, dtypes or ["bf16"], (False, True)):
        if sets and name not in sets:
            continue
        for (b, s), (hq, hkv) in itertools.product(asked or sequences, heads):
            cell = kind(name, causal, dtype, b, hq, hkv, s, d, dv)
            if pattern.search(cell.name):
                cells.setdefault(cell.name, cell)
    return list(cells.values())


def make_cells(dtypes=None, shapes=None, only=None, sets=None):
    """All cells, or those of `dtypes`, of `shapes` (texts, for every head size) and of `sets`, whose name holds a match
    of the expression `only`. In bf16 unless said."""
    return choose(AttentionCell, variants(), HEADS, SETS, dtypes, shapes, only, sets)
