# SPDX-License-Identifier: Apache-2.0
"""What is compared: ops with their arguments as definitions list them, shapes, and the cells that they make
together."""
import dataclasses
import math
import re

ELEMENT_BYTES = {"f32": 4, "f16": 2, "bf16": 2}
ACTS = ["none", "relu", "leaky_relu", "gelu", "gelu_erf", "silu", "tanh"]
NORMS = {"rmsnorm", "add_rmsnorm", "add_rmsnorm_silu", "layernorm", "add_layernorm"}
FLAT = {"activation", "activation_bwd", "add", "mul", "dropout"}
SCALARS = {"eps": 1e-5, "scale": 0.75, "p": 0.1, "seed": 0x0123456789ABCDEF, "offset": 7, "smoothing": 0.0,
           "ignore": -100}
# The way back: their outputs are compared by backward_measure.py.
BACKWARD = {"softmax_bwd", "rmsnorm_bwd", "layernorm_bwd", "swiglu_bwd", "bias_act_dropout_bwd", "activation_bwd",
            "cross_entropy", "embedding", "embedding_bwd", "rope"}
VOCAB = 32000  # rows of an embedding's table
HEAD, POSITIONS = 128, 4096  # of rope: elements of a head, all rotated; a row is cols / HEAD heads of q, and of k

SHAPES = ["32768x256", "32768x1024", "8192x4096", "4096x8192", "4096x16384", "2048x32768", "1024x65536", "512x262144",
          "256x4096", "16x4096",
          # Widths that are no multiple of a vector, or prime.
          "32768x257", "8192x4099", "4096x8191", "2048x32771", "4093x1000", "1024x65537"]
# Rows that fill no block, or not even a warp.
NARROW_SHAPES = ["65536x32", "65536x64", "65536x128", "32768x512"]
FLAT_SHAPES = ["32768x1024", "8192x4096", "4096x16384", "512x262144", "256x4096", "16x4096", "8192x4099", "4093x1000"]
FEW_SHAPES = ["8192x4096", "4093x1000"]
BACKWARD_SHAPES = ["32768x256", "32768x1024", "8192x4096", "4096x16384", "2048x65536", "8192x3000", "4093x1000"]
TOKEN_SHAPES = ["8192x4096", "65536x1024", "65536x4096"]
ROPE_SHAPES = ["16384x4096", "16384x1024", "64x4096"]
FEW_BACKWARD_SHAPES, FEW_ROPE_SHAPES = ["32768x1024", "8192x4096", "4093x1000"], ["16384x4096", "64x4096"]
VOCABULARIES = ["4096x32000", "8192x128256", "2048x200000", "4096x50257"]


@dataclasses.dataclass(frozen=True)
class Argument:
    name: str
    role: str  # in, out or scalar
    kind: str  # flat (n), matrix (rows, cols), wide (rows, 2 cols), vector (cols), column (rows), table (VOCAB, cols),
    # angles (POSITIONS, HEAD / 2), head (HEAD); of a scalar its type
    type: str = "dtype"  # of a tensor
    value: int = None  # of a scalar that is not among SCALARS

    def extents(self, dims):
        if self.kind == "flat":
            return (dims[0],)
        rows, cols = dims
        return {"matrix": (rows, cols), "wide": (rows, 2 * cols), "vector": (cols,), "column": (rows,),
                "table": (VOCAB, cols), "angles": (POSITIONS, HEAD // 2), "head": (HEAD,)}[self.kind]


def arguments(op, attributes, cols=0):
    """In the order of a call; `cols` is what strides are of."""
    def tensors(role, kind, *names):
        return [Argument(name, role, kind) for name in names]

    def scalars(*names):
        return [Argument(name, "scalar", "u64" if name in ("seed", "offset") else "f32") for name in names]

    if op in BACKWARD:
        return backward_arguments(op, attributes, cols)
    x, y = tensors("in", "matrix", "x"), tensors("out", "matrix", "y")
    if op == "activation":
        return tensors("in", "flat", "x") + tensors("out", "flat", "y")
    if op in ("add", "mul"):
        return tensors("in", "flat", "a", "b") + tensors("out", "flat", "y")
    if op == "dropout":
        return tensors("in", "flat", "x") + tensors("out", "flat", "y") + scalars("p", "seed", "offset")
    if op == "swiglu":
        if attributes["layout"] == "packed":
            return tensors("in", "wide", "gate_up") + y
        return tensors("in", "matrix", "gate", "up") + y
    if op == "softmax":
        return x + y
    bias = tensors("in", "vector", "bias")
    if op == "bias_act":
        return x + bias + y
    if op == "bias_act_dropout":
        return x + bias + y + scalars("scale", "p", "seed", "offset")
    residual = tensors("in", "matrix", "residual") if op.startswith("add_") else []
    stored = tensors("out", "matrix", "sum") if attributes.get("store") == "yes" else []
    if op in NORMS:
        vectors = tensors("in", "vector", "weight") + (bias if "layernorm" in op else [])
        return x + residual + vectors + stored + y + scalars("eps")
    raise ValueError(f"no op is named {op}")


def backward_arguments(op, attributes, cols):
    def inputs(*names):
        return [Argument(name, "in", "vector" if name in ("weight", "bias") else "matrix") for name in names]

    def outputs(*names):
        return [Argument(name, "out", "matrix") for name in names]

    def f32(role, kind, *names):
        return [Argument(name, role, kind, "f32") for name in names]
    eps = [Argument("eps", "scalar", "f32")]
    if op == "softmax_bwd":
        return inputs("y", "dy") + outputs("dx")
    if op == "activation_bwd":
        return [Argument(name, role, "flat") for name, role in (("x", "in"), ("dy", "in"), ("dx", "out"))]
    if op in ("rmsnorm_bwd", "layernorm_bwd"):
        added = inputs("dsum") if attributes.get("add") == "yes" else []
        sums = ("dw", "db") if op == "layernorm_bwd" else ("dw",)
        return inputs("x", "weight", "dy") + added + outputs("dx") + f32("out", "vector", *sums) + eps
    if op == "swiglu_bwd" and attributes["layout"] == "packed":
        return [Argument("gate_up", "in", "wide"), *inputs("dy"), Argument("dgate_up", "out", "wide")]
    if op == "swiglu_bwd":
        return inputs("gate", "up", "dy") + outputs("dgate", "dup")
    if op == "bias_act_dropout_bwd":
        scalars = [Argument(name, "scalar", kind) for name, kind in
                   (("scale", "f32"), ("p", "f32"), ("seed", "u64"), ("offset", "u64"))]
        return inputs("x", "bias", "dy") + outputs("dx") + f32("out", "vector", "dbias") + scalars
    index = [Argument("index", "in", "column", "i64")]
    if op == "embedding":
        return [Argument("table", "in", "table")] + index + outputs("y")
    if op == "embedding_bwd":
        return inputs("dy") + index + [Argument("dtable", "out", "table", "f32")]
    if op == "rope":
        angles = [Argument(name, "in", "angles", "f32") for name in ("cos", "sin")]
        strides = [Argument(f"{name}_{dim}", "scalar", "i64", value=value) for name in ("q", "k", "q_out", "k_out")
                   for dim, value in (("token", cols), ("head", HEAD))]
        normed = attributes["norm"] == "yes"
        weights = [Argument(name, "in", "head") for name in ("wq", "wk")] if normed else []
        return (inputs("q", "k") + angles + [Argument("position", "in", "column", "i32")] + weights
                + outputs("q_out", "k_out") + (eps if normed else []) + strides)
    has_gradient = attributes["grad"] == "yes"
    return (inputs("logits") + [Argument("target", "in", "column", "i64")]
            + (f32("in", "column", "dloss") if has_gradient else []) + f32("out", "column", "loss", "lse")
            + (outputs("dlogits") if has_gradient else [])
            + [Argument("smoothing", "scalar", "f32"), Argument("ignore", "scalar", "i64")])


@dataclasses.dataclass(frozen=True)
class Cell:
    op: str
    attributes: tuple  # of (name, value)
    dtype: str
    rows: int
    cols: int

    @property
    def dims(self):
        """Those that the extents of its tensors follow from."""
        return (self.rows * self.cols,) if self.op in FLAT else (self.rows, self.cols)

    @property
    def call_dims(self):
        """Those of its op."""
        if self.op == "rope":
            return (self.rows, self.cols // HEAD, self.cols // HEAD, HEAD, HEAD, POSITIONS)
        return (self.rows, VOCAB, self.cols) if self.op.startswith("embedding") else self.dims

    @property
    def shape(self):
        return f"{self.rows}x{self.cols}"

    @property
    def variant(self):
        """op and attributes: swiglu[layout=packed]"""
        inside = ",".join(f"{name}={value}" for name, value in self.attributes)
        return f"{self.op}[{inside}]" if inside else self.op

    @property
    def spec(self):
        """As the launch library takes it."""
        inside = ",".join(f"{name}={value}" for name, value in (("dtype", self.dtype),) + self.attributes)
        return f"{self.op}[{inside}]"

    @property
    def name(self):
        """One word, for files and for --only: swiglu-layout=packed-bf16-8192x4096"""
        return "-".join([self.op] + [f"{name}={value}" for name, value in self.attributes] + [self.dtype, self.shape])

    def arguments(self):
        return arguments(self.op, dict(self.attributes), self.cols)

    def element_bytes(self, argument):
        return {"dtype": ELEMENT_BYTES[self.dtype], "f32": 4, "i32": 4, "i64": 8}[argument.type]

    def traffic(self):
        """(bytes read, bytes written), each tensor once; of a table read by numbers as many rows at most."""
        moved = {"in": 0, "out": 0}
        for argument in self.arguments():
            if argument.role == "scalar":
                continue
            count = math.prod(argument.extents(self.dims))
            if argument.role == "in" and argument.kind in ("table", "angles"):
                first, width = argument.extents(self.dims)
                count = min(first, self.rows) * width
            moved[argument.role] += count * self.element_bytes(argument)
        return moved["in"], moved["out"]

    @property
    def bytes(self):
        return sum(self.traffic())

    def facts(self):
        """What a result says of the cell beside its name, attributes and type."""
        return {"rows": self.rows, "cols": self.cols, "bytes": self.bytes, "reads": self.reads, "scalars": SCALARS}

    @property
    def seed(self):
        return len(self.name) * 1000003 + self.rows * 31 + self.cols

    @property
    def copied(self):
        """Elements of the copy that moves as many bytes, by as many reads."""
        return max(1, self.bytes // ((self.reads + 1) * ELEMENT_BYTES[self.dtype]))

    @property
    def reads(self):
        """Bytes read for each one written: the whole number from 1 to 3 that is nearest."""
        read, written = self.traffic()
        return min((1, 2, 3), key=lambda reads: (abs(read - reads * written), reads))


def variants():
    """(op, attributes, shapes) of everything that is compared."""
    for op in ("softmax", "rmsnorm", "layernorm"):
        yield op, (), SHAPES + NARROW_SHAPES
    for store in ("no", "yes"):
        yield "add_rmsnorm", (("store", store),), SHAPES + NARROW_SHAPES
    yield "add_rmsnorm_silu", (), SHAPES
    for store in ("no", "yes"):
        yield "add_layernorm", (("store", store),), SHAPES
    for layout in ("split", "packed"):
        yield "swiglu", (("layout", layout),), SHAPES
    for op in ("bias_act", "bias_act_dropout"):
        yield op, (("act", "gelu"),), SHAPES
        for act in ACTS:
            if act != "gelu":
                yield op, (("act", act),), FEW_SHAPES
    for act in ACTS[1:]:
        yield "activation", (("act", act),), FLAT_SHAPES if act in ("gelu", "silu") else FEW_SHAPES
    yield "add", (("act", "none"),), FLAT_SHAPES
    yield "add", (("act", "relu"),), FEW_SHAPES
    yield "mul", (("act", "none"),), FLAT_SHAPES
    yield "mul", (("act", "silu"),), FEW_SHAPES
    yield "dropout", (), FLAT_SHAPES
    for op in ("softmax_bwd", "rmsnorm_bwd", "layernorm_bwd"):
        yield op, (), BACKWARD_SHAPES
    for op in ("rmsnorm_bwd", "layernorm_bwd"):
        yield op, (("add", "yes"),), FEW_BACKWARD_SHAPES
    yield "swiglu_bwd", (("layout", "split"),), BACKWARD_SHAPES
    yield "swiglu_bwd", (("layout", "packed"),), FEW_BACKWARD_SHAPES
    yield "activation_bwd", (("act", "gelu"),), ["4096x4096", "4096x16384"]
    yield "bias_act_dropout_bwd", (("act", "gelu"),), BACKWARD_SHAPES
    for grad in ("no", "yes"):
        yield "cross_entropy", (("grad", grad),), VOCABULARIES
    yield "rope", (("style", "halved"), ("norm", "no")), ROPE_SHAPES
    for style, norm in (("interleaved", "no"), ("halved", "yes")):
        yield "rope", (("style", style), ("norm", norm)), FEW_ROPE_SHAPES
    for op in ("embedding", "embedding_bwd"):
        yield op, (), TOKEN_SHAPES


def parse_shape(text):
    match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", text)
    if not match:
        raise ValueError(f"'{text}' is no shape; write ROWSxCOLS, such as 8192x4096")
    return int(match[1]), int(match[2])


def make_cells(dtypes, shapes=None, only=None, ops=None):
    """All cells, or those of `shapes` (texts, for every op) and of `ops`, whose name holds a match of the expression
    `only`."""
    for dtype in dtypes:
        if dtype not in ELEMENT_BYTES:
            raise ValueError(f"'{dtype}' is no dtype; there are {', '.join(ELEMENT_BYTES)}")
    known = list(dict.fromkeys(op for op, _, _ in variants()))
    for op in ops or []:
        if op not in known:
            raise ValueError(f"'{op}' is no op that is compared; there are {', '.join(known)} and gemm")
    pattern = re.compile(only or "")
    cells = []
    for dtype in dtypes:
        for op, attributes, default_shapes in variants():
            if ops is not None and op not in ops:
                continue
            for shape in shapes or default_shapes:
                cell = Cell(op, attributes, dtype, *parse_shape(shape))
                if pattern.search(cell.name):
                    cells.append(cell)
    return cells
