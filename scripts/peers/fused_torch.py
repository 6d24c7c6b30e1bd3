# SPDX-License-Identifier: Apache-2.0
"""The ops that are a product and more by others: in torch as a user writes them, by QuACK, as the chain of our own ops
that they take the place of, and in float64. Weights are laid out for each before anything is timed."""
import ctypes
import importlib

import torch
import torch.nn.functional as F

from . import torch_ops
from .cells import SCALARS
from .philox import keep_mask


def _act(cell):
    return torch_ops.activation(dict(cell.attributes).get("act", "none"))


def packed(cell, inputs):
    """The weights of a gated product as one matrix, first all gates."""
    if cell.op == "mlp":
        return torch.cat((inputs["w_gate"], inputs["w_up"])) if cell["gated"] == "yes" else inputs["w_up"]
    return inputs["w"]


def interleaved(cell, inputs):
    both = packed(cell, inputs)
    return both.view(2, both.shape[0] // 2, -1).transpose(0, 1).reshape(both.shape)


def is_gated(cell):
    return cell.op == "gemm_gated" or (cell.op == "mlp" and cell["gated"] == "yes")


def function(cell):
    """Of the tensors that prepare() gives."""
    act = _act(cell)
    if is_gated(cell) or cell.op == "mlp":
        def half(x, w):
            if not is_gated(cell):
                return act(F.linear(x, w))
            gate, up = F.linear(x, w).chunk(2, -1)
            return act(gate) * up
        return half if cell.op == "gemm_gated" else lambda x, w, down: F.linear(half(x, w), down)
    if cell.op == "gemm_dropout":
        def dropped(a, b, *others):
            has_bias = cell["bias"] == "yes"
            c = F.dropout(act(F.linear(a, b, others[0] if has_bias else None)), SCALARS["p"], training=True)
            return c + others[-1] if cell["residual"] == "yes" else c
        return dropped

    def normed(a, b, residual, weight, *norm_bias):
        s = F.linear(a, b) + residual
        if norm_bias:
            return s, F.layer_norm(s, s.shape[-1:], weight, *norm_bias, SCALARS["eps"])
        return s, F.rms_norm(s, s.shape[-1:], weight, SCALARS["eps"])
    return normed


def prepare(cell, inputs):
    if cell.op == "gemm_gated":
        return [inputs["a"], packed(cell, inputs)]
    if cell.op == "mlp":
        return [inputs["x"], packed(cell, inputs), inputs["w_down"]]
    return list(inputs.values())


def _quack_norm(cell, sets):
    """Its product with the residual, then its norm: its `gemm_rms` leaves y undivided. Its layernorm takes weight and
    bias in f32 alone."""
    from quack import gemm_interface
    norms = importlib.import_module("quack.rmsnorm")  # `quack` has a function of that name, too
    eps = SCALARS["eps"]
    wide = [[inputs[name].float() for name in ("weight", "norm_bias") if name in inputs] for inputs in sets.inputs]

    def normed(i):
        inputs = sets.inputs[i]
        s = gemm_interface.gemm_add(inputs["a"], inputs["b"].T, inputs["residual"])
        if cell.op == "gemm_add_layernorm":
            return s, norms.layernorm_fwd(s, *wide[i], eps=eps)
        return s, norms.rmsnorm_fwd(s, inputs["weight"], eps=eps)[0]
    return normed


def quack(cell, sets):
    if cell.op.startswith("gemm_add_"):
        return _quack_norm(cell, sets)
    from quack import gemm_interface
    names = {"silu": "swiglu", "gelu": "geglu", "relu": "reglu"}
    weights = [interleaved(cell, inputs) if is_gated(cell) else packed(cell, inputs) for inputs in sets.inputs]
    plain = {"gelu": "gelu_tanh_approx", "relu": "relu"}

    def half(i, x):
        if is_gated(cell):
            return gemm_interface.gemm_gated(x, weights[i].T, activation=names[cell["act"]], store_preact=False)[-1]
        return gemm_interface.gemm_act(x, weights[i].T, activation=plain[cell["act"]], store_preact=False)[-1]
    if cell.op == "gemm_gated":
        return lambda i: half(i, sets.inputs[i]["a"])
    return lambda i: gemm_interface.gemm(half(i, sets.inputs[i]["x"]), sets.inputs[i]["w_down"].T)


class Unfused:
    """Our own ops one after the other, each as the cache serves it."""

    def __init__(self, launcher, cell, sets):
        self.launcher, self.cell, self.fits = launcher, cell, {}
        self.steps = [self._steps(sets, i) for i in range(len(sets))]

    def __call__(self, i):
        stream = torch.cuda.current_stream().cuda_stream
        for call in self.steps[i]:
            call(stream)

    def _op(self, op, attributes):
        inside = ",".join([f"dtype={self.cell.dtype}", *(f"{name}={value}" for name, value in attributes.items())])
        return self.launcher.op(f"{op}[{inside}]")

    def _call(self, op, attributes, dims, *values):
        values = [value.data_ptr() if isinstance(value, torch.Tensor) else value for value in values]
        opened = self._op(op, attributes)
        step = f"{op} {'x'.join(map(str, dims))}"
        if step not in self.fits:
            self.fits[step] = opened.query(dims)["fit"]
        return opened.call(dims, values)

    def _product(self, a, b, c, *added, **attributes):
        return self._call("gemm", attributes, (a.shape[0], b.shape[0], a.shape[1]), a, b, *added, c)

    def _steps(self, sets, i):
        cell, inputs, outputs = self.cell, sets.inputs[i], sets.outputs[i]

        def fresh(rows, columns):
            tensor = torch.empty(rows, columns, dtype=torch_ops.DTYPES[cell.dtype], device="cuda")
            self.kept = [*getattr(self, "kept", []), tensor]
            return tensor
        if is_gated(cell) or cell.op == "mlp":
            x, w = prepare(cell, inputs)[:2]
            self.kept = [*getattr(self, "kept", []), w]
            hidden = w.shape[0] // 2 if is_gated(cell) else w.shape[0]
            h = outputs["y"] if cell.op == "gemm_gated" else fresh(x.shape[0], hidden)
            if is_gated(cell):
                both = fresh(x.shape[0], 2 * hidden)
                steps = [self._product(x, w, both),
                         self._call("swiglu", {"layout": "packed"}, (x.shape[0], hidden), both, h)]
            else:
                steps = [self._product(x, w, h, act=cell["act"])]
            return steps + ([self._product(h, inputs["w_down"], outputs["y"])] if cell.op == "mlp" else [])
        m, n, _ = cell.dims
        bias = [inputs["bias"]] if "bias" in inputs else []
        if cell.op == "gemm_dropout":
            scalars = [ctypes.c_float(SCALARS["p"]), ctypes.c_uint64(SCALARS["seed"]),
                       ctypes.c_uint64(SCALARS["offset"])]
            product, c = fresh(m, n), outputs["c"]
            steps = [self._product(inputs["a"], inputs["b"], product, *bias, bias=cell["bias"], act=cell["act"]),
                     self._call("dropout", {}, (m * n,), product, c, *scalars)]
            return steps + ([self._call("add", {}, (m * n,), c, inputs["residual"], c)] if "residual" in inputs else [])
        vectors = [inputs[name] for name in ("weight", "norm_bias") if name in inputs]
        return [self._product(inputs["a"], inputs["b"], outputs["s"], *bias, inputs["residual"], bias=cell["bias"],
                              residual="yes"),
                self._call(cell.op.removeprefix("gemm_add_"), {}, (m, n), outputs["s"], *vectors, outputs["y"],
                           ctypes.c_float(SCALARS["eps"]))]


class Product(Unfused):
    """Our gemm with the same epilogue, but for what the op adds."""

    def _steps(self, sets, i):
        cell, inputs, outputs = self.cell, sets.inputs[i], sets.outputs[i]
        added = [inputs[name] for name in ("bias", "residual") if name in inputs]
        self.served = self._op("gemm", cell.product).query(cell.dims)
        out = outputs["c" if cell.op == "gemm_dropout" else "s"]
        return [self._product(inputs["a"], inputs["b"], out, *added, **cell.product)]


def _p():
    """As the f32 argument of a call holds it."""
    return torch.tensor(SCALARS["p"], dtype=torch.float32).item()


def undropped(cell, inputs, rows):
    """Of gemm_dropout: what is kept, in float64, and the residual, which may be None."""
    s = inputs["a"][rows].double() @ inputs["b"].double().T
    if "bias" in inputs:
        s += inputs["bias"].double()
    return _act(cell)(s) / (1 - _p()), inputs["residual"][rows] if "residual" in inputs else None


def exact(cell, inputs, rows):
    """In float64: the outputs of `rows` (a tensor of indices), by name."""
    act = _act(cell)
    given = {name: tensor.double() for name, tensor in inputs.items() if tensor.dim() == 1}
    first = inputs["x" if cell.op == "mlp" else "a"][rows].double()
    if is_gated(cell) or cell.op == "mlp":
        sums = first @ packed(cell, inputs).double().T
        gate, up = sums.chunk(2, -1) if is_gated(cell) else (sums, 1.0)
        h = act(gate) * up
        return {"y": h if cell.op == "gemm_gated" else h @ inputs["w_down"].double().T}
    if cell.op == "gemm_dropout":
        value, residual = undropped(cell, inputs, rows)
        columns = torch.arange(cell.dims[1], dtype=torch.int64, device="cuda")[None, :]
        kept = keep_mask(rows[:, None], columns, _p(), SCALARS["seed"], SCALARS["offset"], torch)
        c = torch.where(kept, value, 0.0)
        return {"c": c if residual is None else c + residual.double()}
    s = first @ inputs["b"].double().T + given.get("bias", 0.0)
    s = s + inputs["residual"][rows].double()
    eps = torch.tensor(SCALARS["eps"], dtype=torch.float32).item()
    centred = s - s.mean(-1, keepdim=True) if cell.op == "gemm_add_layernorm" else s
    y = centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + eps) * given["weight"]
    return {"s": s, "y": y + given.get("norm_bias", 0.0)}
