# SPDX-License-Identifier: Apache-2.0
"""The cells of the ops that are a product and more: `gemm_dropout`, `gemm_gated`, norms behind a gemm, `mlp`."""
import dataclasses
import math
import re

from .gemm_cells import ELEMENT_BYTES

DIMS = {"gemm_dropout": ("m", "n", "k"), "gemm_gated": ("m", "n", "k"), "gemm_add_rmsnorm": ("m", "n", "k"),
        "gemm_add_layernorm": ("m", "n", "k"), "mlp": ("rows", "d", "hidden", "d_out")}
DTYPES = ("bf16", "f16")

LLAMA = [(rows, 14336, 4096) for rows in (1, 16, 64, 512, 4096)]
NORMED = [(512, 4096, 4096), (8192, 640, 4096), (8192, 2048, 4096), (8192, 4096, 4096)]
MLPS = [(rows, 4096, 14336, 4096) for rows in (1, 16, 64, 512, 4096)] + [(16384, 1024, 2816, 1024)]
FEW_ROWS = 16  # of a gated product or an mlp: up to these its time is that of reading the weights
NARROW_MLPS = [(16384, 256, 1024, 256), (65536, 128, 512, 128)]


@dataclasses.dataclass(frozen=True)
class Argument:
    name: str
    role: str  # in, out or scalar
    shape: tuple  # of a tensor
    kind: str  # matrix or vector; of a scalar its type
    value: object = None  # of a scalar, where it is not that of all cells

    def extents(self, _dims):
        return self.shape


@dataclasses.dataclass(frozen=True)
class MatrixCopy:
    """A copy of a matrix of so many elements, as `copy` with one read makes it."""
    dtype: str
    copied: int
    reads: int = 1

    @property
    def bytes(self):
        return 2 * self.copied * ELEMENT_BYTES[self.dtype]


def _tensors(role, *named):
    return [Argument(name, role, shape, "matrix" if len(shape) == 2 else "vector") for name, shape in named]


def _scalars(*named):
    return [Argument(name, "scalar", (), kind) for name, kind in named]


@dataclasses.dataclass(frozen=True)
class FusedCell:
    op: str
    attributes: tuple  # of (name, value): all of them, in the definition's order
    dtype: str
    dims: tuple

    def __getitem__(self, attribute):
        return dict(self.attributes)[attribute]

    @property
    def call_dims(self):
        return self.dims

    @property
    def shape(self):
        return "x".join(map(str, self.dims))

    @property
    def inside(self):
        return [f"{name}={value}" for name, value in self.attributes]

    @property
    def spec(self):
        """As the launch library takes it."""
        return f"{self.op}[{','.join([f'dtype={self.dtype}', *self.inside])}]"

    @property
    def name(self):
        """One word, for files and for --only."""
        return "-".join([self.op, *self.inside, self.dtype, self.shape])

    def arguments(self):
        """In the order of a call."""
        has_bias = self["bias"] == "yes"
        if self.op == "mlp":
            rows, d, hidden, d_out = self.dims
            gate = self["gated"] == "yes"
            return (_tensors("in", ("x", (rows, d)), *([("w_gate", (hidden, d))] if gate else []),
                             ("w_up", (hidden, d)), ("w_down", (d_out, hidden)),
                             *([("b_gate", (hidden,))] if gate and has_bias else []),
                             *([("b_up", (hidden,)), ("b_down", (d_out,))] if has_bias else []))
                    + _tensors("out", ("y", (rows, d_out))))
        m, n, k = self.dims
        if self.op == "gemm_gated":
            split = self["weights"] == "split"
            return (_tensors("in", ("a", (m, k)), *([("wg", (n, k)), ("wu", (n, k))] if split else [("w", (2 * n, k))]),
                             *([("bg", (n,)), ("bu", (n,))] if has_bias else []))
                    + _tensors("out", ("y", (m, n)),
                               *([("gate", (m, n)), ("up", (m, n))] if self["store"] == "yes" else [])))
        product = _tensors("in", ("a", (m, k)), ("b", (n, k)), *([("bias", (n,))] if has_bias else []))
        if self.op == "gemm_dropout":
            return (product + (_tensors("in", ("residual", (m, n))) if self["residual"] == "yes" else [])
                    + _tensors("out", ("c", (m, n))) + _scalars(("p", "f32"), ("seed", "u64"), ("offset", "u64")))
        return (product + _tensors("in", ("residual", (m, n)), ("weight", (n,)),
                                   *([("norm_bias", (n,))] if self.op == "gemm_add_layernorm" else []))
                + _tensors("out", ("s", (m, n)), ("y", (m, n))) + _scalars(("eps", "f32")))

    @property
    def product(self):
        """Attributes of the gemm with the same epilogue, but for what the op adds; None where there is none."""
        if self.op in ("gemm_gated", "mlp"):
            return None
        named = dict(self.attributes)
        return {"bias": named["bias"], "act": named.get("act", "none"), "residual": named.get("residual", "yes")}

    @property
    def written(self):
        """The copy whose rate is that of the matrix which a norm writes beside its product; None where there is no
        norm."""
        if not self.op.startswith("gemm_add_"):
            return None
        return MatrixCopy(self.dtype, self.dims[0] * self.dims[1])

    @property
    def chain(self):
        """Of the ops of our own that this one takes the place of, in order: name, attributes, dims. They are the steps
        of fused_torch.Unfused."""
        def gemm(m, n, k, **attributes):
            return "gemm", attributes, {"m": m, "n": n, "k": k}
        if self.op in ("gemm_gated", "mlp"):
            rows, hidden, d = self.dims if self.op == "gemm_gated" else (self.dims[0], self.dims[2], self.dims[1])
            if self.op == "gemm_gated" or self["gated"] == "yes":
                steps = [gemm(rows, 2 * hidden, d), ("swiglu", {"layout": "packed"}, {"rows": rows, "cols": hidden})]
            else:
                steps = [gemm(rows, hidden, d, act=self["act"])]
            return steps + ([gemm(rows, self.dims[3], hidden)] if self.op == "mlp" else [])
        m, n, k = self.dims
        if self.op == "gemm_dropout":
            return [gemm(m, n, k, bias=self["bias"], act=self["act"]), ("dropout", {}, {"n": m * n}),
                    *([("add", {}, {"n": m * n})] if self["residual"] == "yes" else [])]
        return [gemm(m, n, k, bias=self["bias"], residual="yes"),
                (self.op.removeprefix("gemm_add_"), {}, {"rows": m, "cols": n})]

    @property
    def bytes(self):
        """Each tensor once."""
        return sum(math.prod(argument.shape) for argument in self.arguments()
                   if argument.role != "scalar") * ELEMENT_BYTES[self.dtype]

    @property
    def is_read(self):
        """Whether a copy of as many bytes bounds its time."""
        return self.product is None and self.dims[0] <= FEW_ROWS

    @property
    def reads(self):
        """Of that copy for each write: the most that there are, for the weights are nearly all of the bytes."""
        return 3

    @property
    def copied(self):
        """Elements of each of its tensors."""
        return max(1, self.bytes // ((self.reads + 1) * ELEMENT_BYTES[self.dtype]))

    @property
    def flops(self):
        """Of the products."""
        if self.op == "mlp":
            rows, d, hidden, d_out = self.dims
            return 2 * rows * hidden * ((2 if self["gated"] == "yes" else 1) * d + d_out)
        return 2 * math.prod(self.dims) * (2 if self.op == "gemm_gated" else 1)

    def facts(self):
        """What a result says of the cell beside its name, attributes and type."""
        return {**dict(zip(DIMS[self.op], self.dims)), "set": self.op, "bytes": self.bytes, "flops": self.flops}

    @property
    def seed(self):
        return len(self.name) * 1000003 + sum(self.dims)


def variants(op):
    """(attributes, shapes) of what is compared of an op. Weights are packed, as torch has them."""
    if op == "gemm_dropout":
        yield {"bias": "no", "act": "none", "residual": "no"}, [(512, 4096, 4096), (4096, 4096, 4096)]
        yield {"bias": "yes", "act": "gelu", "residual": "yes"}, [(512, 4096, 4096), (4096, 4096, 4096)]
    elif op == "gemm_gated":
        yield ({"weights": "packed", "act": "silu", "bias": "no", "store": "no"}, LLAMA + [(16384, 2816, 1024)])
    elif op == "mlp":
        yield {"gated": "yes", "act": "silu", "bias": "no"}, MLPS
        yield {"gated": "no", "act": "gelu", "bias": "no"}, NARROW_MLPS
    else:
        yield {"bias": "no"}, NORMED


def parse_shape(op, text):
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*)*", text) or text.count("x") + 1 != len(DIMS[op]):
        raise ValueError(f"'{text}' is no shape of {op}; write {'x'.join(DIMS[op]).upper()}")
    return tuple(map(int, text.split("x")))


@dataclasses.dataclass(frozen=True)
class CellsOf:
    """Of one op, as the modules of other ops have them."""
    op: str

    def make_cells(self, dtypes=None, shapes=None, only=None, sets=None):
        if sets:
            raise ValueError(f"{self.op} has no sets")
        for dtype in dtypes or []:
            if dtype not in DTYPES:
                raise ValueError(f"'{dtype}' is no dtype of {self.op}; there are {', '.join(DTYPES)}")
        asked = [parse_shape(self.op, text) for text in shapes or []]
        pattern = re.compile(only or "")
        cells = [FusedCell(self.op, tuple(attributes.items()), dtype, shape) for attributes, known in variants(self.op)
                 for dtype in dtypes or ["bf16"] for shape in asked or known]
        return [cell for cell in cells if pattern.search(cell.name)]


BY_OP = {op: CellsOf(op) for op in DIMS}
