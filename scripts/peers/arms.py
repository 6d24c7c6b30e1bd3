# SPDX-License-Identifier: Apache-2.0
"""Everything that is timed against each other for a cell: each arm is a function that launches on one of the input sets
and returns what must stay alive."""
import contextlib
import importlib
import inspect

import torch
import torch._dynamo
import torch._inductor.config

from . import (
    attention_bwd_torch,
    attention_torch,
    backward,
    cudnn_norms,
    fused_torch,
    gemm_torch,
    library,
    torch_ops,
    triton_peer,
)
from .cells import BACKWARD, SCALARS
from .fused_cells import DIMS as FUSED


class Sets:
    """Inputs and outputs, so many times over; each argument of a call in the definition's order."""

    def __init__(self, cell, count, generator):
        self.cell = cell
        self.inputs = [torch_ops.make_inputs(cell, generator) for _ in range(count)]
        self.outputs = [torch_ops.make_outputs(cell) for _ in range(count)]

    def __len__(self):
        return len(self.inputs)

    def tensors(self, i):
        """The inputs of set `i`, in order."""
        return list(self.inputs[i].values())


def stream_address():
    return torch.cuda.current_stream().cuda_stream


def ours(launcher, cell, sets):
    """(launch, facts of what is served)"""
    op = launcher.op(cell.spec)
    expected = [argument.name for argument in cell.arguments()]
    described = [argument["name"] for argument in op.describe()["args"]]
    if described != expected:
        raise library.LibraryError(f"{cell.spec} takes {described}, and not {expected}")
    calls = []
    for i in range(len(sets)):
        values = []
        for argument in cell.arguments():
            if argument.role == "scalar":
                value = SCALARS[argument.name] if argument.value is None else argument.value
                values.append(library.scalar(argument.kind, value))
            else:
                tensors = sets.inputs[i] if argument.role == "in" else sets.outputs[i]
                values.append(tensors[argument.name].data_ptr())
        calls.append(op.call(cell.call_dims, values))

    def launch(i):
        calls[i](stream_address())
    return launch, op.query(cell.call_dims)


def configure(cell):
    """What torch is told for all arms of a cell, before any is made."""
    if cell.op == "gemm":
        gemm_torch.set_precision(cell)


def _function(cell):
    if cell.op in BACKWARD:
        return backward.formula(cell)
    if cell.op in FUSED:
        return fused_torch.function(cell)
    return gemm_torch.eager(cell) if cell.op == "gemm" else torch_ops.eager(cell)


def eager(cell, sets):
    if cell.op in BACKWARD:
        return backward.eager(cell, sets)
    function, tensors = _function(cell), _laid_out(cell, sets)
    return lambda i: function(*tensors(i))


def _laid_out(cell, sets):
    """The tensors of a set as torch has them."""
    if cell.op not in FUSED:
        return sets.tensors
    prepared = [fused_torch.prepare(cell, inputs) for inputs in sets.inputs]
    return lambda i: prepared[i]


def cublaslt(cell, sets):
    function = gemm_torch.cublaslt(cell)
    return lambda i: function(*sets.tensors(i))


def _choice_is_made_here(cell):
    """A compiled graph has in it which product was the fastest when it was compiled, among other processes: for
    products it is not taken from the cache, but compiled again, of kernels that are there, and chosen by this
    process."""
    is_product = cell.op == "gemm" or cell.op in FUSED
    return torch._inductor.config.patch(fx_graph_cache=False) if is_product else contextlib.nullcontext()


def compiled(cell, sets):
    torch._dynamo.reset()
    tensors = _laid_out(cell, sets)
    with _choice_is_made_here(cell):
        function = torch.compile(_function(cell), mode="max-autotune-no-cudagraphs", dynamic=False)
        function(*tensors(0))
    torch.cuda.synchronize()
    return lambda i: function(*tensors(i))


def triton_launches(cell, sets, is_ready):
    """Launches by the name of the candidate; `is_ready` says which may be used."""
    def launch_of(candidate):
        return lambda i: candidate.launch(sets.inputs[i], sets.outputs[i])
    return {candidate.name: launch_of(candidate) for candidate in triton_peer.candidates(cell)
            if is_ready(candidate)}


def _fitting(function, *arguments, **named):
    """Calls with those of the named arguments that this version of the function has."""
    known = inspect.signature(function).parameters
    return function(*arguments, **{name: value for name, value in named.items() if name in known})


def liger(cell, sets):
    if cell.op in BACKWARD:
        return backward.liger(cell, sets)
    from liger_kernel.transformers import functional
    eps = SCALARS["eps"]

    def add_rmsnorm(x, residual, weight):
        y, total = _fitting(functional.liger_fused_add_rms_norm, x, residual, weight, eps, in_place=False)
        return total, y
    function = {
        "softmax": lambda x: functional.liger_softmax(x),
        "rmsnorm": lambda x, weight: _fitting(functional.liger_rms_norm, x, weight, eps, in_place=False),
        "layernorm": lambda x, weight, bias: functional.liger_layer_norm(x, weight, bias, eps),
        "add_rmsnorm": add_rmsnorm,
        "swiglu": lambda gate, up: functional.liger_swiglu(gate, up),
    }[cell.op]
    return lambda i: function(*sets.tensors(i))


def _quack_gemm(cell):
    from quack import gemm_interface
    activation = {"none": None, "relu": "relu", "gelu": "gelu_tanh_approx"}[cell["act"]]
    has_bias, has_residual = cell["bias"] == "yes", cell["residual"] == "yes"

    def run(a, b, *others):
        left, right = gemm_torch.left_of(cell, a), gemm_torch.right_of(cell, b)
        bias, residual = others[0] if has_bias else None, others[-1] if has_residual else None
        if activation is None and not has_residual:
            return gemm_interface.gemm(left, right, bias=bias)
        if activation is None and not has_bias:
            return gemm_interface.gemm_add(left, right, residual)
        return gemm_interface.gemm_act(left, right, C=residual, bias=bias, activation=activation,
                                       store_preact=False)[-1]
    return run


def quack(cell, sets):
    """Its layernorm takes weight and bias in f32 alone: they are widened before anything is timed."""
    if cell.op in FUSED:
        return fused_torch.quack(cell, sets)
    if cell.op in BACKWARD:
        return backward.quack(cell, sets)
    if cell.op == "gemm":
        function = _quack_gemm(cell)
        return lambda i: function(*sets.tensors(i))
    eps = SCALARS["eps"]
    if cell.op == "softmax":
        from quack.softmax import softmax
        return lambda i: softmax(*sets.tensors(i))
    norms = importlib.import_module("quack.rmsnorm")  # `quack` has a function of that name, too
    if cell.op == "layernorm":
        wide = [[tensor.float() for tensor in sets.tensors(i)[1:]] for i in range(len(sets))]
        return lambda i: norms.layernorm_fwd(sets.inputs[i]["x"], *wide[i], eps=eps)
    if cell.op == "rmsnorm":
        return lambda i: norms.rmsnorm_fwd(*sets.tensors(i), eps=eps)[0]

    def add_rmsnorm(x, residual, weight):
        y, total = norms.rmsnorm_fwd(x, weight, residual=residual, eps=eps)[:2]
        return total, y
    return lambda i: add_rmsnorm(*sets.tensors(i))


def _attention(name):
    def make(cell, sets):
        if cell.op == "attention_bwd":
            return getattr(attention_bwd_torch, name)(cell, sets)
        function = getattr(attention_torch, name)(cell)
        return lambda i: function(*sets.tensors(i))
    return make


def cudnn(cell, sets):
    """Attention through torch, norms through its frontend."""
    make = _attention("cudnn") if cell.op.startswith("attention") else cudnn_norms.make
    return make(cell, sets)


# Peers that are made of a cell and its sets alone, by their names; each raises what keeps it from being there.
MAKERS = {"eager": eager, "cublaslt": cublaslt, "liger": liger, "quack": quack,
          "cudnn": cudnn, "flash2": _attention("flash2"), "flash4": _attention("flash4")}


class Ceiling:
    """Copies of the cell's bytes in its ratio: our tuned `copy`, and torch's where as much is read as written. `scale`
    turns the time of either into that of the cell's bytes, of which the tuned one has up to 2 % more or fewer."""

    def __init__(self, launcher, cell, count, tuned):
        element = torch_ops.DTYPES[cell.dtype]
        n = library.nearest_copy(tuned, cell.copied)
        self.tuned = n is not None
        n = n or cell.copied
        self.scale = cell.copied / n
        op = launcher.op(f"copy[dtype={cell.dtype},reads={cell.reads}]")
        self.served = op.query((n,))
        self.tensors = [[torch.empty(n, dtype=element, device="cuda").normal_() for _ in range(cell.reads + 1)]
                        for _ in range(count)]
        calls = [op.call((n,), [tensor.data_ptr() for tensor in tensors]) for tensors in self.tensors]
        self.launches = {"ceiling": lambda i: calls[i](stream_address())}
        if cell.reads == 1:
            self.launches["torch_copy"] = lambda i: (self.tensors[i][1].copy_(self.tensors[i][0]), None)[1]
