# SPDX-License-Identifier: Apache-2.0
"""The Triton peer of a cell: its candidates, each a kernel with a block size and a number of warps, or several such
kernels one after the other. The fastest of them, found by the method by which it is timed afterwards, is the peer."""
import dataclasses
import functools
import typing

from . import triton_attention as attention
from . import triton_flat as flat
from . import triton_gemm as gemm
from . import triton_rows as rows
from .cells import NORMS, SCALARS
from .fused_cells import DIMS as FUSED

# A row in one block beyond this many elements a thread takes minutes to compile and spills anyway.
MOST_IN_A_THREAD = 256
WIDE = 16384


@dataclasses.dataclass(frozen=True)
class Candidate:
    kernel: typing.Any
    grid: tuple
    meta: tuple  # of (name, value): constants of the kernel, num_warps among them
    arguments: typing.Callable  # (inputs, outputs) by name → the kernel's positional arguments

    @property
    def name(self):
        return self.kernel.fn.__name__ + "{" + ",".join(f"{name}={value}" for name, value in self.meta) + "}"

    @property
    def is_dear(self):
        """Takes many seconds to compile."""
        meta = dict(self.meta)
        return meta.get("BLOCK", 0) // (32 * meta["num_warps"]) > 32

    def launch(self, inputs, outputs):
        self.kernel[self.grid](*self.arguments(inputs, outputs), **dict(self.meta))

    def compile(self, inputs, outputs):
        self.kernel.warmup(*self.arguments(inputs, outputs), grid=self.grid, **dict(self.meta))


@dataclasses.dataclass(frozen=True)
class Chain:
    steps: tuple  # candidates

    @property
    def name(self):
        return "+".join(step.name for step in self.steps)

    @property
    def is_dear(self):
        return any(step.is_dear for step in self.steps)

    def launch(self, inputs, outputs):
        for step in self.steps:
            step.launch(inputs, outputs)

    def compile(self, inputs, outputs):
        for step in self.steps:
            step.compile(inputs, outputs)


def power_of_two_from(n):
    return 1 << (n - 1).bit_length()


def _row_candidates(cell):
    attributes = dict(cell.attributes)
    whole = max(power_of_two_from(cell.cols), 32)
    if cell.op == "softmax":
        kernels, constants = (rows.softmax_block, rows.softmax_loop), ()

        def arguments(inputs, outputs):
            return inputs["x"], outputs["y"], cell.cols
    else:
        kernels = (rows.norm_block, rows.norm_loop)
        constants = (("ADD", cell.op.startswith("add_")), ("STORE", attributes.get("store") == "yes"),
                     ("LAYER", "layernorm" in cell.op), ("SILU", cell.op.endswith("silu")))

        def arguments(inputs, outputs):
            # What the constants leave unused is some tensor.
            x = inputs["x"]
            return (x, inputs.get("residual", x), inputs["weight"], inputs.get("bias", x), outputs.get("sum", x),
                    outputs["y"], cell.cols, SCALARS["eps"])
    grid = (cell.rows, 1, 1)
    for warps in (1, 2, 4, 8, 16, 32):
        in_a_thread = whole // (32 * warps)
        if 1 <= in_a_thread <= (128 if warps < 32 else MOST_IN_A_THREAD):
            yield Candidate(kernels[0], grid, constants + (("BLOCK", whole), ("num_warps", warps)), arguments)
    if cell.cols > WIDE:
        for block, warps in ((2048, 8), (4096, 8), (4096, 16), (8192, 16), (8192, 32), (16384, 32)):
            yield Candidate(kernels[1], grid, constants + (("BLOCK", block), ("num_warps", warps)), arguments)


def _blocks(kernel, constants, grid_of, arguments):
    for block in (1024, 2048, 4096, 8192):
        for warps in (4, 8, 16):
            if 2 <= block // (32 * warps) <= 32:
                yield Candidate(kernel, grid_of(block), constants + (("BLOCK", block), ("num_warps", warps)), arguments)


def _elementwise_candidates(cell):
    attributes = dict(cell.attributes)
    act = (("ACT", attributes.get("act", "none")),)
    n = cell.rows * cell.cols
    p, scale = SCALARS["p"], SCALARS["scale"]
    seed = SCALARS["seed"] & 0x7FFFFFFF

    def over_all(block):
        return (-(-n // block), 1, 1)

    def over_rows(block):
        return (cell.rows, -(-cell.cols // block), 1)

    if cell.op == "activation":
        yield from _blocks(flat.unary_flat, act, over_all, lambda i, o: (i["x"], o["y"], n))
    elif cell.op in ("add", "mul"):
        yield from _blocks(flat.binary_flat, (("OP", cell.op),) + act, over_all,
                           lambda i, o: (i["a"], i["b"], o["y"], n))
    elif cell.op == "dropout":
        yield from _blocks(flat.dropout_flat, (), over_all, lambda i, o: (i["x"], o["y"], n, p, seed))
    elif cell.op == "swiglu" and attributes["layout"] == "split":
        yield from _blocks(flat.binary_flat, (("OP", "swiglu"), ("ACT", "none")), over_all,
                           lambda i, o: (i["gate"], i["up"], o["y"], n))
    elif cell.op == "swiglu":
        def packed(inputs, outputs):
            both = inputs["gate_up"]
            return both, both[:, cell.cols:], outputs["y"], cell.cols, 2 * cell.cols
        yield from _blocks(flat.swiglu_rows, (), over_rows, packed)
    else:
        drop = act + (("DROP", cell.op == "bias_act_dropout"),)
        yield from _blocks(flat.bias_flat, drop, over_all,
                           lambda i, o: (i["x"], i["bias"], o["y"], n, cell.cols, scale, p, seed))
        # Blocks of one row: not where most of each would be empty.
        for candidate in _blocks(flat.bias_rows, drop, over_rows,
                                 lambda i, o: (i["x"], i["bias"], o["y"], cell.cols, scale, p, seed)):
            if dict(candidate.meta)["BLOCK"] <= max(power_of_two_from(cell.cols), 1024):
                yield candidate


def _tiled(kernel, m, n, tile, constants, arguments):
    """A kernel of products, a tile of m × n a program."""
    block_m, block_n, block_k, stages, warps = tile
    meta = (("GROUP_M", gemm.GROUP_M), ("BLOCK_M", block_m), ("BLOCK_N", block_n), ("BLOCK_K", block_k),
            ("num_stages", stages), ("num_warps", warps))
    return Candidate(kernel, (-(-m // block_m) * -(-n // block_n), 1, 1), constants + meta, arguments)


def _product(dims, strides, tile, tensors_of, **epilogue):
    """`tensors_of` inputs and outputs: a, b, bias, residual, c; of the bias and the residual any tensor where the
    epilogue has none."""
    plain = {"BIAS": False, "ACT": "none", "DROP": False, "RESIDUAL": False, "PRECISION": "tf32"}

    def arguments(inputs, outputs):
        return *tensors_of(inputs, outputs), *dims, *strides, SCALARS["p"], SCALARS["seed"] & 0x7FFFFFFF
    return _tiled(gemm.matmul, *dims[:2], tile, tuple({**plain, **epilogue}.items()), arguments)


def _with_epilogue(cell, strides, tile, out, **epilogue):
    """The product a · b with this cell's bias and residual."""
    def tensors_of(inputs, outputs):
        a = inputs["a"]
        return a, inputs["b"], inputs.get("bias", a), inputs.get("residual", a), outputs[out]
    return _product(cell.dims, strides, tile, tensors_of, BIAS=cell["bias"] == "yes", **epilogue)


def _gemm_candidates(cell):
    for tile in gemm.tiles_of(cell.m, cell.dtype):
        yield _with_epilogue(cell, gemm.strides_of(cell), tile, "c", ACT=cell["act"],
                             RESIDUAL=cell["residual"] == "yes",
                             PRECISION=cell["math"] if cell.dtype == "f32" else "tf32")


def _gated(dims, tile, act, tensors_of):
    """`tensors_of` inputs and outputs: a, the weights of gates and of ups, y."""
    block_m, block_n, *others = tile
    return _tiled(gemm.gated, *dims[:2], (block_m, block_n // 2, *others), (("ACT", act),),
                  lambda inputs, outputs: (*tensors_of(inputs, outputs), *dims))


def _normed(cell):
    """The norm of s, after a product."""
    m, n, _ = cell.dims
    constants = (("ADD", False), ("STORE", False), ("LAYER", cell.op == "gemm_add_layernorm"), ("SILU", False),
                 ("BLOCK", power_of_two_from(n)), ("num_warps", 4 if n <= 2048 else 8))

    def arguments(inputs, outputs):
        s = outputs["s"]
        return s, s, inputs["weight"], inputs.get("norm_bias", s), s, outputs["y"], n, SCALARS["eps"]
    return Candidate(rows.norm_block, (m, 1, 1), constants, arguments)


@functools.lru_cache(maxsize=1)
def _scratch(rows, columns, dtype):
    import torch

    from .torch_ops import DTYPES
    return torch.empty(rows, columns, dtype=DTYPES[dtype], device="cuda")


def _mlp(cell, tile):
    m, d, hidden, d_out = cell.dims

    def h():
        return _scratch(m, hidden, cell.dtype)
    if cell["gated"] == "yes":
        up = _gated((m, hidden, d), tile, cell["act"], lambda i, _: (i["x"], i["w_gate"], i["w_up"], h()))
    else:
        up = _product((m, hidden, d), (d, 1, 1, d), tile, lambda i, _: (i["x"], i["w_up"], h(), h(), h()),
                      ACT=cell["act"])
    return up, _product((m, d_out, hidden), (hidden, 1, 1, hidden), tile,
                        lambda i, o: (h(), i["w_down"], h(), h(), o["y"]))


def _fused_steps(cell, tile):
    if cell.op == "mlp":
        return _mlp(cell, tile)
    _, n, k = cell.dims
    if cell.op == "gemm_gated":
        return (_gated(cell.dims, tile, cell["act"], lambda i, o: (i["a"], i["w"][:n], i["w"][n:], o["y"])),)
    strides = k, 1, 1, k
    if cell.op == "gemm_dropout":
        return (_with_epilogue(cell, strides, tile, "c", ACT=cell["act"], DROP=True,
                               RESIDUAL=cell["residual"] == "yes"),)
    return _with_epilogue(cell, strides, tile, "s", RESIDUAL=True), _normed(cell)


def _fused_candidates(cell):
    for tile in gemm.tiles_of(cell.dims[0], cell.dtype):
        yield Chain(_fused_steps(cell, tile))


def _attention_candidates(cell):
    widths = (("D", cell.d), ("DV", cell.dv), ("BLOCK_D", power_of_two_from(cell.d)),
              ("BLOCK_DV", power_of_two_from(cell.dv)), ("CAUSAL", cell.causal))

    def arguments(inputs, outputs):
        return (inputs["q"], inputs["k"], inputs["v"], outputs["o"], cell.scale * attention.LOG2E, cell.s, cell.hq,
                cell.hkv)

    for block_m, block_n, stages, warps in attention.TILES:
        grid = (-(-cell.s // block_m), cell.b * cell.hq, 1)
        meta = (("BLOCK_M", block_m), ("BLOCK_N", block_n), ("num_stages", stages), ("num_warps", warps))
        yield Candidate(attention.attention, grid, widths + meta, arguments)


def candidates(cell):
    if cell.op == "attention":
        return list(_attention_candidates(cell))
    if cell.op == "gemm":
        return list(_gemm_candidates(cell))
    if cell.op in FUSED:
        return list(_fused_candidates(cell))
    return list(_row_candidates(cell) if cell.op == "softmax" or cell.op in NORMS else _elementwise_candidates(cell))
