# SPDX-License-Identifier: Apache-2.0
"""The cells of `gemm`: sets of shapes, each with the layouts, epilogues and types that it is about."""
import dataclasses
import math
import re

from . import gemm_drawn

ELEMENT_BYTES = {"f32": 4, "f16": 2, "bf16": 2}
DEFAULTS = {"layout": "nt", "math": "ieee", "bias": "no", "act": "none", "residual": "no"}
SETS = ["plain", "epilogue", "layouts", "f16", "f32"]
# Of cells that are drawn, by the set of their attributes.
DRAWN_SETS = {"plain": "off-beaten", "epilogue": "off-beaten epilogue"}
# Up to so many rows a product is bound by reading b.
FEW_ROWS = 64
SAMPLED_ROWS = 64

WEIGHTS = [(4096, 4096), (28672, 8192), (8192, 28672)]
CUBES = [(side, side, side) for side in (1024, 2048, 4096, 8192, 16384)]
# Neither m nor n is a multiple of a tile. The first two have rows of 16-byte vectors everywhere; then rows of b that
# are 8-byte vectors and an odd n, an odd n, and an odd k.
RAGGED = [(1000, 4104, 520), (3000, 5000, 2008), (333, 7001, 1028), (2047, 4095, 4096), (4001, 4104, 4095)]
PLAIN = list(dict.fromkeys([(m, n, k) for n, k in WEIGHTS for m in (1, 16, 64, 256, 1024, 4096)] + CUBES + RAGGED))
WIDE_GELU = [(64, 16384, 4096), (1024, 16384, 4096), (4096, 16384, 4096), (8192, 4096, 4096)]
OTHER_EPILOGUES = [(4096, 16384, 4096), (4096, 4096, 4096), (256, 4096, 4096)]
LAYOUTS = [(256, 4096, 4096), (1024, 4096, 4096), (4096, 4096, 4096), (8192, 8192, 8192)]


@dataclasses.dataclass(frozen=True)
class Tensor:
    name: str
    role: str  # in or out
    shape: tuple

    @property
    def kind(self):
        return "matrix" if len(self.shape) == 2 else "vector"

    def extents(self, _dims):
        return self.shape


@dataclasses.dataclass(frozen=True)
class GemmCell:
    attributes: tuple  # of (name, value): all of them, in the definition's order
    dtype: str
    m: int
    n: int
    k: int
    kind: str = ""  # of one that is drawn (gemm_drawn.py)

    op = "gemm"

    def __getitem__(self, attribute):
        return dict(self.attributes)[attribute]

    @property
    def dims(self):
        return self.m, self.n, self.k

    call_dims = dims

    @property
    def shape(self):
        return f"{self.m}x{self.n}x{self.k}"

    @property
    def variant(self):
        """The attributes that are not the default's, and the layout: gemm[layout=nt,bias=yes,act=gelu]"""
        return f"gemm[{','.join(self._told())}]"

    @property
    def spec(self):
        """As the launch library takes it."""
        inside = ",".join(f"{name}={value}" for name, value in (("dtype", self.dtype),) + self.attributes)
        return f"gemm[{inside}]"

    @property
    def name(self):
        """One word, for files and for --only: gemm-layout=nt-bias=yes-act=gelu-bf16-64x16384x4096"""
        return "-".join(["gemm", *self._told(), self.dtype, self.shape])

    def _told(self):
        return [f"{name}={value}" for name, value in self.attributes if name == "layout" or value != DEFAULTS[name]]

    @property
    def set(self):
        name = set_of(dict(self.attributes), self.dtype)
        return DRAWN_SETS[name] if self.kind else name

    def arguments(self):
        """In the order of a call."""
        tensors = [Tensor("a", "in", (self.k, self.m) if self["layout"] == "tn" else (self.m, self.k)),
                   Tensor("b", "in", (self.n, self.k) if self["layout"] == "nt" else (self.k, self.n))]
        if self["bias"] == "yes":
            tensors.append(Tensor("bias", "in", (self.n,)))
        if self["residual"] == "yes":
            tensors.append(Tensor("residual", "in", (self.m, self.n)))
        return [*tensors, Tensor("c", "out", (self.m, self.n))]

    @property
    def bytes(self):
        """Each tensor once."""
        return sum(math.prod(tensor.shape) for tensor in self.arguments()) * ELEMENT_BYTES[self.dtype]

    @property
    def flops(self):
        return 2 * self.m * self.n * self.k

    def facts(self):
        """What a result says of the cell beside its name, attributes and type."""
        return {"m": self.m, "n": self.n, "k": self.k, "set": self.set, "bytes": self.bytes, "flops": self.flops,
                **({"kind": self.kind} if self.kind else {})}

    @property
    def seed(self):
        return len(self.name) * 1000003 + self.m * 31 + self.n * 7 + self.k


def set_of(attributes, dtype):
    """The set to which these attributes and this type belong, whatever the shape."""
    if dtype != "bf16":
        return dtype
    if any(attributes[name] != DEFAULTS[name] for name in ("bias", "act", "residual")):
        return "epilogue"
    return "plain" if attributes["layout"] == "nt" else "layouts"


def sampled_rows(m):
    """The rows that are compared with float64: the first, the last, and between them 62 at most, in all places of a
    tile."""
    if m <= SAMPLED_ROWS:
        return list(range(m))
    return [round(i * (m - 1) / (SAMPLED_ROWS - 1)) for i in range(SAMPLED_ROWS)]


def variants():
    """(attributes that are not the default's, dtype, shapes) of everything that is compared."""
    yield {}, "bf16", PLAIN
    yield {"bias": "yes", "act": "gelu"}, "bf16", WIDE_GELU
    yield {"bias": "yes", "act": "silu"}, "bf16", OTHER_EPILOGUES
    yield {"bias": "yes", "act": "leaky_relu"}, "bf16", OTHER_EPILOGUES
    yield {"bias": "yes", "residual": "yes"}, "bf16", OTHER_EPILOGUES
    yield {"act": "silu"}, "bf16", OTHER_EPILOGUES
    for layout in ("nn", "tn"):
        yield {"layout": layout}, "bf16", LAYOUTS
    yield {}, "f16", [(16, 4096, 4096), (1024, 4096, 4096), (4096, 4096, 4096), (8192, 8192, 8192)]
    yield {"math": "tf32"}, "f32", [(256, 4096, 4096), (1024, 1024, 1024), (4096, 4096, 4096)]
    yield {}, "f32", [(1024, 1024, 1024), (4096, 4096, 4096)]


def parse_shape(text):
    match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)x([1-9]\d*)", text)
    if not match:
        raise ValueError(f"'{text}' is no shape of gemm; write MxNxK, such as 4096x4096x4096")
    return tuple(int(part) for part in match.groups())


def make_cells(dtypes=None, shapes=None, only=None, sets=None):
    """All cells, or those of `dtypes`, of `shapes` (texts, for every variant) and of `sets`, whose name holds a match
    of the expression `only`."""
    for dtype in dtypes or []:
        if dtype not in ELEMENT_BYTES:
            raise ValueError(f"'{dtype}' is no dtype; there are {', '.join(ELEMENT_BYTES)}")
    for name in sets or []:
        if name not in SETS:
            raise ValueError(f"'{name}' is no set of gemm; there are {', '.join(SETS)}")
    asked = [parse_shape(text) for text in shapes or []]
    pattern = re.compile(only or "")
    cells = []
    for changed, dtype, default_shapes in variants():
        attributes = {**DEFAULTS, **changed}
        if (dtypes and dtype not in dtypes) or (sets and set_of(attributes, dtype) not in sets):
            continue
        for shape in asked or default_shapes:
            cell = GemmCell(tuple(attributes.items()), dtype, *shape)
            if pattern.search(cell.name):
                cells.append(cell)
    return cells


def drawn_cells(seed, sets=None, only=None):
    """Shapes that `seed` draws, plain (also without `sets`), with bias and gelu (`epilogue`), or both."""
    for name in sets or []:
        if name not in DRAWN_SETS:
            raise ValueError(f"'{name}' is no set of what --off-beaten draws; there are {', '.join(DRAWN_SETS)}")
    changes = {"plain": {}, "epilogue": {"bias": "yes", "act": "gelu"}}
    cells = [GemmCell(tuple({**DEFAULTS, **changes[name]}.items()), "bf16", *shape, kind)
             for name in sets or ["plain"] for kind, shape in gemm_drawn.draw(seed)]
    return [cell for cell in cells if re.search(only or "", cell.name)]
