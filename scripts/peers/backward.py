# SPDX-License-Identifier: Apache-2.0
"""The way back: gradients of row and elementwise ops, and its neighbours cross-entropy, embedding and rope, by others.
What torch keeps of the forward pass (a norm's statistics) is made before anything is timed; ours makes it again.
Gradients of weights are in the weights' type in torch, in f32 in ours."""
import importlib
import types

import torch
import torch.nn.functional as F

from . import torch_ops
from .cells import FLAT, HEAD, POSITIONS, SCALARS, VOCAB
from .philox import keep_mask

IGNORED = SCALARS["ignore"]
SLICE = 1 << 25  # elements of one float64 slice
aten = torch.ops.aten


def make_input(cell, argument, tensor, generator):
    """Fills an input whose values are no plain normal numbers."""
    rows, cols = cell.rows, cell.cols
    if argument.name == "target":
        tensor.random_(0, cols, generator=generator)
        tensor[torch.arange(0, rows, 16, device=tensor.device)] = IGNORED
    elif argument.name == "index":
        tensor.random_(0, VOCAB, generator=generator)
    elif argument.name == "position":
        tensor.copy_(torch.arange(rows, device=tensor.device) % POSITIONS)
    elif argument.name in ("cos", "sin"):
        powers = torch.arange(HEAD // 2, device=tensor.device) * (-2.0 / HEAD)
        angles = torch.arange(POSITIONS, device=tensor.device)[:, None] * 10000.0 ** powers[None, :]
        tensor.copy_(angles.cos() if argument.name == "cos" else angles.sin())
    elif argument.name == "dloss":
        tensor.fill_(1.0)  # the kernels of QuACK and Liger have no other
    elif argument.name == "y":
        tensor.normal_(0.0, 2.0, generator=generator)
        tensor.copy_(torch.softmax(tensor.float(), -1))
    else:
        return False
    return True


def _rounded(value):
    return torch.tensor(value, dtype=torch.float32).item()


def _mask(rows, cols, first=0):
    row = torch.arange(first, first + rows, dtype=torch.int64, device="cuda")[:, None]
    column = torch.arange(cols, dtype=torch.int64, device="cuda")[None, :]
    return keep_mask(row, column, _rounded(SCALARS["p"]), SCALARS["seed"], SCALARS["offset"], torch)


def _norm_formula(centred, eps):
    def run(x, weight, dy, dsum=None):
        wide, gradient = x.float(), dy.float()
        if centred:
            wide = wide - wide.mean(-1, keepdim=True)
        rstd = torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
        normal = wide * rstd
        g = gradient * weight.float()
        rest = g - normal * (g * normal).mean(-1, keepdim=True)
        if centred:
            rest = rest - g.mean(-1, keepdim=True)
        sums = ((gradient * normal).sum(0), gradient.sum(0)) if centred else ((gradient * normal).sum(0),)
        dx = rest * rstd if dsum is None else rest * rstd + dsum.float()
        return (dx.to(x.dtype), *sums)
    return run


def _slope(act, z):
    """Of gelu's approximation by tanh and of none."""
    if act == "none":
        return torch.ones_like(z)
    inner = 0.7978845608028654 * (z + 0.044715 * z ** 3)
    tanh = torch.tanh(inner)
    return 0.5 * (1 + tanh) + 0.5 * z * (1 - tanh ** 2) * 0.7978845608028654 * (1 + 3 * 0.044715 * z ** 2)


def _dropout_formula(cell, mask):
    act, scale, keep = dict(cell.attributes)["act"], SCALARS["scale"], 1.0 / (1.0 - SCALARS["p"])

    def run(x, bias, dy):
        z = (x.float() + bias.float()) * scale
        gradient = torch.where(mask, dy.float() * keep, 0.0) * _slope(act, z) * scale
        return gradient.to(x.dtype), gradient.sum(0)
    return run


def _softmax_formula(y, dy):
    wide = y.float()
    return (wide * (dy.float() - (wide * dy.float()).sum(-1, keepdim=True))).to(y.dtype)


def _swiglu_formula(gate, up, dy):
    wide, gradient = gate.float(), dy.float()
    s = torch.sigmoid(wide)
    return ((gradient * up.float() * s * (1 + wide * (1 - s))).to(gate.dtype), (gradient * wide * s).to(gate.dtype))


def _packed_swiglu_formula(gate_up, dy):
    return torch.cat(_swiglu_formula(*gate_up.chunk(2, -1), dy), -1)


def _gelu_formula(x, dy):
    return (dy.float() * _slope("gelu", x.float())).to(x.dtype)


def _loss(logits, target):
    return F.cross_entropy(logits.float(), target, reduction="none", ignore_index=IGNORED), None


def _loss_and_gradient(logits, target, dloss):
    wide = logits.float()
    lse = torch.logsumexp(wide, -1, keepdim=True)
    known = target != IGNORED
    at = torch.where(known, target, 0)[:, None]
    loss = torch.where(known, (lse - wide.gather(-1, at)).squeeze(-1), 0.0)
    columns = torch.arange(logits.shape[-1], device=logits.device)[None, :]
    gradient = torch.exp(wide - lse) - (columns == at).float()
    return loss, None, torch.where(known[:, None], gradient * dloss[:, None], 0.0).to(logits.dtype)


def _rotation(cell):
    """Of q and k, in the type of cos and sin."""
    interleaved, eps = ("style", "interleaved") in cell.attributes, SCALARS["eps"]

    def run(q, k, cos, sin, position, wq=None, wk=None):
        c, s = cos[position][:, None, :], sin[position][:, None, :]

        def rotate(x, weight):
            x = x.unflatten(-1, (-1, HEAD)).to(cos.dtype)
            if weight is not None:
                x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight.to(cos.dtype)
            if interleaved:
                first, second = x[..., 0::2], x[..., 1::2]
                return torch.stack((first * c - second * s, second * c + first * s), -1).flatten(1)
            first, second = x.chunk(2, -1)
            return torch.cat((first * c - second * s, second * c + first * s), -1).flatten(1)
        return rotate(q, wq), rotate(k, wk)
    return run


def _rope_formula(cell):
    rotated = _rotation(cell)
    return lambda q, *others: tuple(each.to(q.dtype) for each in rotated(q, *others))


def _embedding(table, index):
    return F.embedding(index, table)


def _embedding_gradient(dy, index):
    return aten.embedding_dense_backward(dy, index, VOCAB, -1, False)


# By cell; the same for torch.compile and eager.
PLAIN = {"embedding": lambda _: _embedding, "embedding_bwd": lambda _: _embedding_gradient, "rope": _rope_formula}


def _is_packed(cell):
    return ("layout", "packed") in cell.attributes


def _plus(given, dx, *sums):
    """With the gradient of the sum where the op adds it."""
    return (dx + given["dsum"] if "dsum" in given else dx, *sums)


def formula(cell):
    """As one would write it for torch.compile, in f32."""
    if cell.op in PLAIN:
        return PLAIN[cell.op](cell)
    if cell.op in ("rmsnorm_bwd", "layernorm_bwd"):
        return _norm_formula(cell.op == "layernorm_bwd", SCALARS["eps"])
    if cell.op == "bias_act_dropout_bwd":
        return _dropout_formula(cell, _mask(cell.rows, cell.cols))
    if cell.op == "cross_entropy":
        return _loss_and_gradient if ("grad", "yes") in cell.attributes else _loss
    if _is_packed(cell):
        return _packed_swiglu_formula
    return {"softmax_bwd": _softmax_formula, "swiglu_bwd": _swiglu_formula, "activation_bwd": _gelu_formula}[cell.op]


def eager(cell, sets):
    """By torch's own kernels."""
    if cell.op in PLAIN:
        function = PLAIN[cell.op](cell)
        return lambda i: function(*sets.tensors(i))
    eps, cols = SCALARS["eps"], cell.cols
    if cell.op == "softmax_bwd":
        return lambda i: aten._softmax_backward_data(sets.inputs[i]["dy"], sets.inputs[i]["y"], -1,
                                                     torch_ops.DTYPES[cell.dtype])
    if cell.op == "rmsnorm_bwd":
        kept = [aten._fused_rms_norm(each["x"], [cols], each["weight"], eps)[1] for each in sets.inputs]
        return lambda i: _plus(sets.inputs[i], *aten._fused_rms_norm_backward(
            sets.inputs[i]["dy"], sets.inputs[i]["x"], [cols], kept[i], sets.inputs[i]["weight"], [True, True]))
    if cell.op == "layernorm_bwd":
        kept = [aten.native_layer_norm(each["x"], [cols], each["weight"], each["weight"], eps)[1:]
                for each in sets.inputs]
        return lambda i: _plus(sets.inputs[i], *aten.native_layer_norm_backward(
            sets.inputs[i]["dy"], sets.inputs[i]["x"], [cols], *kept[i], sets.inputs[i]["weight"],
            sets.inputs[i]["weight"], [True, True, True]))
    if cell.op == "activation_bwd":
        return lambda i: aten.gelu_backward(sets.inputs[i]["dy"], sets.inputs[i]["x"], approximate="tanh")
    if cell.op == "swiglu_bwd":
        def swiglu(gate, up, dy):
            return aten.silu_backward(dy * up, gate), dy * F.silu(gate)

        def packed(gate_up, dy):
            return torch.cat(swiglu(*gate_up.chunk(2, -1), dy), -1)
        function = packed if _is_packed(cell) else swiglu
        return lambda i: function(*sets.tensors(i))
    if cell.op == "bias_act_dropout_bwd":
        mask, act = _mask(cell.rows, cell.cols), dict(cell.attributes)["act"]

        def dropout(x, bias, dy):
            kept = aten.native_dropout_backward(dy, mask, 1.0 / (1.0 - SCALARS["p"]))
            z = (x + bias) * SCALARS["scale"]
            dz = aten.gelu_backward(kept, z, approximate="tanh") if act == "gelu" else kept
            dx = dz * SCALARS["scale"]
            return dx, dx.sum(0)
        return lambda i: dropout(*sets.tensors(i))

    def loss(logits, target, dloss=None):
        logs = F.log_softmax(logits, -1)
        loss = F.nll_loss(logs, target, reduction="none", ignore_index=IGNORED)
        if dloss is None:
            return loss, None
        weight = torch.zeros((), dtype=logits.dtype, device=logits.device)
        dlogs = aten.nll_loss_backward(dloss.to(logits.dtype), logs, target, None, 0, IGNORED, weight)
        return loss, None, aten._log_softmax_backward_data(dlogs, logs, -1, logits.dtype)
    return lambda i: loss(*sets.tensors(i))


class Overwriting:
    """Launches of a function that writes over some of its inputs: it has copies of its own, which are made anew before
    its results are looked at, and not between timed launches."""

    def __init__(self, sets, names, function):
        self.sets, self.names, self.function = sets, names, function
        self.own = [[each[name].clone() for name in names] for each in sets.inputs]

    def renew(self, i):
        for name, tensor in zip(self.names, self.own[i]):
            tensor.copy_(self.sets.inputs[i][name])

    def __call__(self, i):
        return self.function(self.own[i], self.sets.inputs[i])


def _in_heads(x):
    """Tokens as sequences of as many as there are positions."""
    return x.view(-1, min(x.shape[0], POSITIONS), x.shape[1] // HEAD, HEAD)


def _liger_rope(sets):
    from liger_kernel.ops import rope
    twice = [[torch.cat((each[name], each[name]), -1) for name in ("cos", "sin")] for each in sets.inputs]
    angles = {id(each): tables for each, tables in zip(sets.inputs, twice)}

    def rotate(own, given):
        return tuple(x.transpose(1, 2).reshape(own[0].shape) for x in rope.rope_forward(
            *(_in_heads(x).transpose(1, 2) for x in own), *angles[id(given)])[:2])
    return Overwriting(sets, ("q", "k"), rotate)


class _Noted:
    """In the place of a Triton kernel: launches it, and notes by what."""

    def __init__(self, kernel):
        self.kernel = kernel

    def __getitem__(self, grid):
        def launch(**arguments):
            self.grid, self.arguments = grid, arguments
            self.kernel[grid](**arguments)
        return launch


def _liger_cross_entropy(cell, sets):
    """Its kernel, launched as its function does: the function itself reads the targets on the host, which no graph can.
    The loss is in the logits' type, and the gradient, of a dloss of 1, takes the logits' place. So do zeros in ignored
    rows even without the gradient: both have logits of their own."""
    from liger_kernel.ops import cross_entropy
    has_gradient, given = ("grad", "yes") in cell.attributes, sets.inputs[0]
    kernel = cross_entropy.liger_cross_entropy_kernel
    cross_entropy.liger_cross_entropy_kernel = noted = _Noted(kernel)
    try:
        cross_entropy.cross_entropy_forward(given["logits"].clone().requires_grad_(has_gradient), given["target"], None,
                                            IGNORED, 0.0, SCALARS["smoothing"], "none", None, False)
    finally:
        cross_entropy.liger_cross_entropy_kernel = kernel
    settings = {name: value for name, value in noted.arguments.items() if not isinstance(value, torch.Tensor)}

    def launch(own, given):
        logits, = own
        loss = torch.zeros(cell.rows, dtype=logits.dtype, device=logits.device)
        kernel[noted.grid](X_ptr=logits, Y_ptr=given["target"], loss_ptr=loss, **settings)
        return (loss, None, logits) if has_gradient else (loss, None)
    return Overwriting(sets, ("logits",), launch)


def _liger_embedding(cell, sets):
    from liger_kernel.ops.experimental.embedding import LigerEmbeddingFunction
    if cell.op == "embedding":
        return lambda i: LigerEmbeddingFunction.apply(*sets.tensors(i))
    # It adds in the type of the table that it is given: f32 makes the sums of the definition.
    kept = [types.SimpleNamespace(saved_tensors=(each["index"], table["dtable"]))
            for each, table in zip(sets.inputs, sets.outputs)]
    return lambda i: LigerEmbeddingFunction.backward(kept[i], sets.inputs[i]["dy"])[0]


def _liger_fused_add(sets):
    """What its forward pass keeps of the sum, of which x is one here."""
    from liger_kernel.ops import fused_add_rms_norm
    # Behind y and the sum: the deviations' inverses, the block and its warps and stages, the casting mode.
    kept = [fused_add_rms_norm.fused_add_rms_norm_forward(each["x"], torch.zeros_like(each["x"]), each["weight"],
                                                          SCALARS["eps"], 0.0, "llama")[2:] for each in sets.inputs]

    def launch(i):
        given, (rstd, *settings, casting) = sets.inputs[i], kept[i]
        dx, _, dw = fused_add_rms_norm.fused_add_rms_norm_backward(given["dy"], given["dsum"], given["x"],
                                                                   given["weight"], rstd, 0.0, casting, *settings,
                                                                   False)
        return dx, dw
    return launch


def liger(cell, sets):
    if cell.op == "rope":
        return _liger_rope(sets)
    if cell.op == "cross_entropy":
        return _liger_cross_entropy(cell, sets)
    if cell.op in ("embedding", "embedding_bwd"):
        return _liger_embedding(cell, sets)
    if cell.op == "softmax_bwd":
        from liger_kernel.ops import softmax
        settings = softmax._softmax_forward(sets.inputs[0]["y"])[1:]
        return lambda i: softmax._softmax_backward(sets.inputs[i]["dy"], sets.inputs[i]["y"], *settings)
    if cell.op == "rmsnorm_bwd" and ("add", "yes") in cell.attributes:
        return _liger_fused_add(sets)
    if cell.op == "rmsnorm_bwd":
        from liger_kernel.ops import rms_norm
        kept = [rms_norm.rms_norm_forward(each["x"], each["weight"], SCALARS["eps"], 0.0, "llama", None)
                for each in sets.inputs]
        return lambda i: rms_norm.rms_norm_backward(sets.inputs[i]["dy"], sets.inputs[i]["x"],
                                                    sets.inputs[i]["weight"], kept[i][2], 0.0, kept[i][5], kept[i][3],
                                                    kept[i][4], False, None)
    if cell.op == "layernorm_bwd":
        from liger_kernel.ops import layer_norm
        kept = [layer_norm.layer_norm_forward(each["x"], each["weight"], each["weight"], SCALARS["eps"])
                for each in sets.inputs]
        return lambda i: layer_norm.layer_norm_backward(sets.inputs[i]["dy"], sets.inputs[i]["x"],
                                                        sets.inputs[i]["weight"], sets.inputs[i]["weight"], kept[i][2],
                                                        kept[i][3])
    from liger_kernel.ops import swiglu
    return Overwriting(sets, ("gate", "up"), lambda own, given: swiglu.swiglu_backward(*own, given["dy"]))


def quack(cell, sets):
    if cell.op == "softmax_bwd":
        from quack.softmax import softmax_bwd
        return lambda i: softmax_bwd(sets.inputs[i]["dy"], sets.inputs[i]["y"])
    if cell.op == "rope":
        from quack.rotary import apply_rotary
        interleaved = ("style", "interleaved") in cell.attributes
        return lambda i: tuple(apply_rotary(_in_heads(sets.inputs[i][name]), sets.inputs[i]["cos"],
                                            sets.inputs[i]["sin"], interleaved=interleaved).flatten(2).flatten(0, 1)
                               for name in ("q", "k"))
    if cell.op == "cross_entropy":
        from quack.cross_entropy import cross_entropy_fwd
        has_gradient = ("grad", "yes") in cell.attributes

        def loss(logits, target, *_dloss):
            return cross_entropy_fwd(logits, target, ignore_index=IGNORED, return_lse=True, return_dx=has_gradient)
        return lambda i: loss(*sets.tensors(i))
    rmsnorm = importlib.import_module("quack.rmsnorm")  # `quack` has a function of that name, too
    eps = SCALARS["eps"]
    if cell.op == "rmsnorm_bwd":
        kept = [torch.rsqrt(each["x"].float().square().mean(-1) + eps) for each in sets.inputs]
        return lambda i: rmsnorm.rmsnorm_bwd(sets.inputs[i]["x"], sets.inputs[i]["weight"], sets.inputs[i]["dy"],
                                             kept[i], sets.inputs[i].get("dsum"))[:2]
    means = [each["x"].float().mean(-1) for each in sets.inputs]
    kept = [torch.rsqrt(each["x"].float().var(-1, correction=0) + eps) for each in sets.inputs]
    weights = [each["weight"].float() for each in sets.inputs]
    return lambda i: rmsnorm.layernorm_bwd(sets.inputs[i]["x"], weights[i], sets.inputs[i]["dy"], kept[i], means[i])


def exact(cell, inputs):
    """The outputs in float64, by slices of rows: yields (first, last, outputs by name), of flat ops in elements, with
    sums over all rows under (None, None) at the end."""
    sums, kinds = {}, {argument.name: argument.kind for argument in cell.arguments()}
    step = max(1, SLICE // cell.cols)
    width = cell.cols if cell.op in FLAT else 1  # elements of a row, of what has no rows
    rotated = _rotation(cell)
    eps, scale = _rounded(SCALARS["eps"]), _rounded(SCALARS["scale"])
    for first in range(0, cell.rows, step):
        last = min(first + step, cell.rows)
        part = slice(first * width, last * width)
        given = {name: tensor[part] if kinds[name] in ("flat", "matrix", "wide", "column") else tensor
                 for name, tensor in inputs.items()}
        given = {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in given.items()}
        added = {}
        if cell.op in ("rmsnorm_bwd", "layernorm_bwd"):
            x, dy = given["x"], given["dy"]
            if cell.op == "layernorm_bwd":
                x = x - x.mean(-1, keepdim=True)
                added["db"] = dy.sum(0)
            rstd = 1 / torch.sqrt(x.square().mean(-1, keepdim=True) + eps)
            normal, g = x * rstd, dy * given["weight"]
            added["dw"] = (dy * normal).sum(0)
            rest = g - normal * (g * normal).mean(-1, keepdim=True)
            if cell.op == "layernorm_bwd":
                rest = rest - g.mean(-1, keepdim=True)
            outputs = {"dx": rest * rstd + given.get("dsum", 0.0)}
        elif cell.op == "activation_bwd":
            outputs = {"dx": given["dy"] * _slope("gelu", given["x"])}
        elif cell.op == "embedding":
            outputs = {"y": given["table"][given["index"]]}
        elif cell.op == "embedding_bwd":
            outputs = {}
            dtable = torch.zeros(VOCAB, cell.cols, dtype=torch.float64, device="cuda")
            added["dtable"] = dtable.index_add_(0, given["index"], given["dy"])
        elif cell.op == "rope":
            outputs = dict(zip(("q_out", "k_out"), rotated(*given.values())))
        elif cell.op == "softmax_bwd":
            y, dy = given["y"], given["dy"]
            outputs = {"dx": y * (dy - (y * dy).sum(-1, keepdim=True))}
        elif cell.op == "swiglu_bwd":
            gate, up = given["gate_up"].chunk(2, -1) if _is_packed(cell) else (given["gate"], given["up"])
            s = torch.sigmoid(gate)
            outputs = {"dgate": given["dy"] * up * s * (1 + gate * (1 - s)), "dup": given["dy"] * gate * s}
            if _is_packed(cell):
                outputs = {"dgate_up": torch.cat(tuple(outputs.values()), -1)}
        elif cell.op == "bias_act_dropout_bwd":
            z = (given["x"] + given["bias"]) * scale
            kept = torch.where(_mask(last - first, cell.cols, first), given["dy"] / (1 - _rounded(SCALARS["p"])), 0.0)
            outputs = {"dx": kept * _slope(dict(cell.attributes)["act"], z) * scale}
            added["dbias"] = outputs["dx"].sum(0)
        else:
            target = given["target"]
            known, at = target != IGNORED, torch.where(target == IGNORED, 0, target)[:, None]
            lse = torch.logsumexp(given["logits"], -1)
            loss = torch.where(known, lse - given["logits"].gather(-1, at).squeeze(-1), 0.0)
            outputs = {"loss": loss, "lse": lse}
            if "dloss" in given:
                gradient = torch.exp(given["logits"] - lse[:, None])
                gradient.scatter_add_(-1, at, torch.full_like(at, -1.0, dtype=torch.float64))
                outputs["dlogits"] = torch.where(known[:, None], gradient * given["dloss"][:, None], 0.0)
        for name, value in added.items():
            sums[name] = sums[name] + value if name in sums else value
        yield part.start, part.stop, outputs
    if sums:
        yield None, None, sums
