# SPDX-License-Identifier: Apache-2.0
"""The ops in torch: inputs, eager functions as a user of torch writes them, and results in float64."""
import torch
import torch.nn.functional as F

from . import backward
from .cells import BACKWARD, SCALARS
from .fused_cells import DIMS as FUSED
from .philox import keep_mask

PRODUCT_WEIGHTS = ("b", "wg", "wu", "w", "w_gate", "w_up", "w_down")
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def type_of(cell, argument):
    """Of a tensor."""
    own = getattr(argument, "type", "dtype")
    return DTYPES[cell.dtype] if own == "dtype" else {"f32": torch.float32, "i32": torch.int32, "i64": torch.int64}[own]


def _spread(cell, name):
    """(mean, standard deviation): what is multiplied by is near 1; the weights of a product are small, so that its sums
    have the size of an activation."""
    if name in ("weight", "wq", "wk"):
        return 1.0, 0.2
    if (cell.op == "gemm" and name == "b") or (cell.op in FUSED and name in PRODUCT_WEIGHTS):
        return 0.0, 0.02
    return 0.0, 2.0 if cell.op == "softmax" else 1.0


def make_inputs(cell, generator):
    """Random normal tensors of one set, by argument name."""
    inputs = {}
    for argument in cell.arguments():
        if argument.role != "in":
            continue
        tensor = torch.empty(argument.extents(cell.dims), dtype=type_of(cell, argument), device="cuda")
        inputs[argument.name] = tensor
        if cell.op in BACKWARD and backward.make_input(cell, argument, tensor, generator):
            continue
        tensor.normal_(*_spread(cell, argument.name), generator=generator)
    return inputs


def make_outputs(cell):
    return {argument.name: torch.empty(argument.extents(cell.dims), dtype=type_of(cell, argument), device="cuda")
            for argument in cell.arguments() if argument.role == "out"}


def activation(act):
    """For tensors of any float type."""
    return {
        "none": lambda x: x,
        "relu": F.relu,
        "leaky_relu": lambda x: F.leaky_relu(x, 0.01),
        "gelu": lambda x: F.gelu(x, approximate="tanh"),
        "gelu_erf": F.gelu,
        "silu": F.silu,
        "tanh": torch.tanh,
    }[act]


def eager(cell, drops=True):
    """The op as a function of its input tensors, in the order of the arguments; it returns the outputs in theirs.
    Without `drops`, a dropout keeps all elements, and divides them by 1 - p as it does those that it keeps."""
    attributes = dict(cell.attributes)
    act = activation(attributes.get("act", "none"))
    cols, eps, scale, p = cell.cols, SCALARS["eps"], SCALARS["scale"], SCALARS["p"]
    stores = attributes.get("store") == "yes"

    def dropout(x):
        return F.dropout(x, p, training=True) if drops else x * (1.0 / (1.0 - p))

    def with_sum(norm):
        def store(x, residual, *vectors):
            total = x + residual
            return total, norm(total, *vectors)
        return store if stores else lambda x, residual, *vectors: norm(x + residual, *vectors)

    def rms_norm(x, weight):
        return F.rms_norm(x, (cols,), weight, eps)

    def layer_norm(x, weight, bias):
        return F.layer_norm(x, (cols,), weight, bias, eps)

    def swiglu_packed(gate_up):
        gate, up = gate_up.chunk(2, dim=-1)
        return F.silu(gate) * up

    return {
        "activation": act,
        "add": lambda a, b: act(a + b),
        "mul": lambda a, b: act(a * b),
        "dropout": dropout,
        "bias_act": lambda x, bias: act(x + bias),
        "bias_act_dropout": lambda x, bias: dropout(act((x + bias) * scale)),
        "swiglu": swiglu_packed if attributes.get("layout") == "packed" else lambda gate, up: F.silu(gate) * up,
        "softmax": lambda x: torch.softmax(x, -1),
        "rmsnorm": rms_norm,
        "add_rmsnorm": with_sum(rms_norm),
        "add_rmsnorm_silu": lambda x, residual, weight: F.silu(rms_norm(x + residual, weight)),
        "layernorm": layer_norm,
        "add_layernorm": with_sum(layer_norm),
    }[cell.op]


def outputs_of(result):
    return result if isinstance(result, tuple) else (result,)


def _rounded(value):
    """As the f32 argument of a call holds it."""
    return torch.tensor(value, dtype=torch.float32).item()


def exact(cell, inputs):
    """The outputs in float64 for some rows (elements, of flat ops): `inputs` are slices, in the order of the arguments.
    The norms see the unrounded sum. Nothing is dropped, and what is kept is divided by 1 - p all the same."""
    tensors = [tensor.double() for tensor in inputs]
    attributes = dict(cell.attributes)
    act = activation(attributes.get("act", "none"))
    eps, scale = _rounded(SCALARS["eps"]), _rounded(SCALARS["scale"])
    if cell.op in ("activation", "bias_act", "add"):
        return (act(sum(tensors)),)
    if cell.op == "mul":
        return (act(tensors[0] * tensors[1]),)
    if cell.op in ("dropout", "bias_act_dropout"):
        value = tensors[0] if cell.op == "dropout" else act((tensors[0] + tensors[1]) * scale)
        return (value / (1.0 - _rounded(SCALARS["p"])),)
    if cell.op == "swiglu":
        gate, up = tensors[0].chunk(2, dim=-1) if len(tensors) == 1 else tensors
        return (F.silu(gate) * up,)
    if cell.op == "softmax":
        return (torch.softmax(tensors[0], -1),)
    x = tensors[0] + tensors[1] if cell.op.startswith("add_") else tensors[0]
    vectors = tensors[2:] if cell.op.startswith("add_") else tensors[1:]
    if "layernorm" in cell.op:
        centred = x - x.mean(-1, keepdim=True)
        y = centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + eps) * vectors[0] + vectors[1]
    else:
        y = x / torch.sqrt(x.square().mean(-1, keepdim=True) + eps) * vectors[0]
        if cell.op.endswith("silu"):
            y = F.silu(y)
    return (x, y) if attributes.get("store") == "yes" else (y,)


def expected_mask(cell, first_row, shape):
    """Where our dropout keeps elements, by its definition; `shape` is that of the slice from `first_row` on."""
    if cell.op == "dropout":
        row = torch.zeros(1, dtype=torch.int64, device="cuda")
        column = torch.arange(first_row, first_row + shape[0], dtype=torch.int64, device="cuda")
    else:
        row = torch.arange(first_row, first_row + shape[0], dtype=torch.int64, device="cuda")[:, None]
        column = torch.arange(shape[1], dtype=torch.int64, device="cuda")[None, :]
    return keep_mask(row, column, _rounded(SCALARS["p"]), SCALARS["seed"], SCALARS["offset"], torch)
