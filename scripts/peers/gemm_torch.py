# SPDX-License-Identifier: Apache-2.0
"""`gemm` in torch: eager as a user writes it, through cuBLASLt's epilogues where it has the one asked for, and in
float64."""
import torch
import torch.nn.functional as F

from . import torch_ops


def set_precision(cell):
    """How torch multiplies f32, in cuBLAS and in what torch.compile makes; the other types do not depend on it."""
    torch.set_float32_matmul_precision("high" if cell["math"] == "tf32" else "highest")


def left_of(cell, a):
    """a as m × k, without a copy."""
    return a.t() if cell["layout"] == "tn" else a


def right_of(cell, b):
    """b as k × n, without a copy."""
    return b.t() if cell["layout"] == "nt" else b


def eager(cell):
    """A function of the input tensors, in the order of the arguments."""
    act = torch_ops.activation(cell["act"])
    has_bias, has_residual = cell["bias"] == "yes", cell["residual"] == "yes"

    def product(a, b, bias):
        if cell["layout"] == "nt":
            return F.linear(a, b, bias)
        left = left_of(cell, a)
        return torch.mm(left, b) if bias is None else torch.addmm(bias, left, b)

    def run(a, b, *others):
        c = act(product(a, b, others[0] if has_bias else None))
        return c + others[-1] if has_residual else c
    return run


def cublaslt(cell):
    """Its epilogue with a bias and an activation (registry.py)."""
    use_gelu = cell["act"] == "gelu"

    def run(a, b, bias):
        return torch._addmm_activation(bias, left_of(cell, a), right_of(cell, b), use_gelu=use_gelu)
    return run


def exact(cell, inputs, rows, first, last):
    """In float64: `rows` (a tensor of indices) of c, columns `first` to before `last`."""
    a, b = left_of(cell, inputs["a"]), right_of(cell, inputs["b"])
    c = a[rows].double() @ b[:, first:last].double()
    if cell["bias"] == "yes":
        c = c + inputs["bias"][first:last].double()
    c = torch_ops.activation(cell["act"])(c)
    return c + inputs["residual"][rows, first:last].double() if cell["residual"] == "yes" else c
