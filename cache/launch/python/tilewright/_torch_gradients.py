# SPDX-License-Identifier: Apache-2.0
"""Gradients of the ops, by the ops that compute them. Of OP that is OP_bwd, by the names of its arguments: what has the
name of an argument of OP is that, `dy` is the gradient by y, and the output dx, or dw, that by x, or the input whose
name begins with w. RULES has what names do not tell, and what takes several ops."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from . import default_launcher
from ._library import DeviceError, UsageError
from ._tensors import dtype_name
from ._torch_op import Form

Forms = Mapping[str, Mapping[tuple[str, ...], Form]]
OPS = torch.ops.tilewright
Values = Mapping[str, Any]


@dataclasses.dataclass
class Rule:
    """The op that gives gradients, its arguments by the names of the forward op's where they differ, the outputs that
    are gradients by the input, scalars that are given. In place of an op: `by`, a function of the attributes, of
    arguments, outputs and their gradients by name, and of the inputs whose gradients are wanted, which gives those by
    name; it needs the outputs that `keeps` names."""

    op: str = ""
    takes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    gives: Mapping[str, str] = dataclasses.field(default_factory=dict)
    given: Values = dataclasses.field(default_factory=dict)
    by: Callable[[Mapping[str, str], Values, set[str]], dict[str, Any]] | None = None
    keeps: frozenset[str] = frozenset()


class Known(NamedTuple):
    """Of an output that no gradient needs, what zeros in its place are made by."""

    shape: Any
    dtype: torch.dtype
    device: torch.device


def rule_of(name: str, forms: Forms) -> Rule | None:
    if name in RULES or f"{name}_bwd" not in forms:
        return RULES.get(name)
    gives = {}
    forward = next(iter(forms[name].values()))
    for form in forms[f"{name}_bwd"].values():
        for arg in form.outputs:
            short = arg["name"][1:]
            same = [one["name"] for one in forward.definition["args"] if one["role"] == "in"
                    and (one["name"] == short or len(short) == 1 and one["name"].startswith(short))]
            gives[same[0]] = arg["name"]
    return Rule(f"{name}_bwd", {}, gives)


def kept_by(form: Form, rule: Rule, forms: Forms) -> set[str]:
    """The outputs of the op that its gradient needs."""
    if rule.by:
        return set(rule.keeps)
    backward = next(iter(forms[rule.op].values()))
    names = {arg["name"] for arg in form.definition["args"] if arg["role"] == "out"}
    needed = {rule.takes.get(parameter.name, parameter.name) for parameter in backward.parameters
              if parameter.kind == "tensor"}
    return names & needed if rule.op != form.definition["name"] else set()


def backward_of(form: Form, rule: Rule | None, forms: Forms) -> Any:
    """What register_autograd takes."""

    # Of lse there is no gradient.
    taken = rule and not rule.by and {rule.takes.get(parameter.name, parameter.name)
                      for backward in forms[rule.op].values() for parameter in backward.parameters}
    # Others are let go, and may be written to.
    kept = kept_by(form, rule, forms) if rule else set()

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        outputs = output if isinstance(output, (tuple, list)) else (output,)
        tensors = [arg for arg in inputs if isinstance(arg, torch.Tensor)]
        ctx.set_materialize_grads(False)
        ctx.others = [None if isinstance(arg, torch.Tensor) else arg for arg in inputs]
        ctx.is_tensor = [isinstance(arg, torch.Tensor) for arg in inputs]
        ctx.outputs = [None if arg["name"] in kept else Known(output.shape, output.dtype, output.device)
                       for arg, output in zip(form.outputs, outputs)]
        ctx.save_for_backward(*tensors, *(output for known, output in zip(ctx.outputs, outputs) if known is None))
        if taken:
            ctx.mark_non_differentiable(*(output for arg, output in zip(form.outputs, outputs)
                                          if f"d{arg['name']}" not in taken))

    def backward(ctx: Any, *grads: Any) -> Any:
        saved = iter(ctx.saved_tensors)
        inputs = [next(saved) if is_tensor else other for is_tensor, other in zip(ctx.is_tensor, ctx.others)]
        attributes = form.attributes_of(inputs)
        values = {parameter.name: value for parameter, value in zip(form.parameters, inputs)}
        for arg, known, grad in zip(form.outputs, ctx.outputs, grads):
            values[arg["name"]] = next(saved) if known is None else known
            values[f"d{arg['name']}"] = grad
        # Shorter where torch leaves out defaults.
        wanted = {parameter.name for parameter, needed in zip(form.parameters, ctx.needs_input_grad) if needed}
        _check(form, rule, forms)
        if rule.by:
            found = rule.by(attributes, values, wanted)
        else:
            found = _by_rule(form, rule, forms, attributes, values, inputs)
        missing = [parameter for parameter in wanted if parameter not in found]
        if missing:
            raise UsageError(f"{form.name} has no gradient by {', '.join(missing)}; detach it")
        return tuple(_as(values[parameter.name], found[parameter.name]) if parameter.name in wanted else None
                     for parameter in form.parameters)

    return backward, setup


def _as(x: Any, gradient: Any) -> Any:
    """Of the dtype and shape of x, whose rows may be in other batches than those of other arguments."""
    if gradient.shape != x.shape:
        # Views of one buffer would be gradients of leaves that share it; one tensor twice torch copies.
        gradient = gradient.reshape(x.shape).clone()
    return gradient.to(x.dtype)


def _check(form: Form, rule: Rule | None, forms: Forms) -> None:
    name = form.definition["name"]
    if rule is None:
        raise UsageError(f"{form.name} has no gradient: there is no op {name}_bwd; call it within torch.no_grad(), or "
                         "detach its arguments")
    for output in kept_by(form, rule, forms) - {arg["name"] for arg in form.outputs}:
        raise UsageError(f"{form.name} does not keep {output}, which its gradient needs; call "
                         f"tilewright.torch.{name}, which chooses the form that does")


def _by_rule(form: Form, rule: Rule, forms: Forms, attributes: dict[str, str], values: dict[str, Any],
             inputs: list[Any]) -> dict[str, Any]:
    words = {**attributes, **rule.given}
    backward = choose(forms[rule.op], words)
    args = []
    for parameter in backward.parameters:
        source = rule.takes.get(parameter.name, parameter.name)
        value: Any = rule.given.get(source, values.get(source, parameter.default))
        if parameter.kind == "dim":
            value = form.understand(inputs).names[parameter.name]
        elif parameter.name == "deterministic":
            value = torch.are_deterministic_algorithms_enabled()
        elif parameter.kind == "attribute":
            value = attributes.get(source, parameter.default)
            value = value in ("yes", True) if parameter.type == "bool" else value
        elif parameter.kind == "tensor" and value is None and parameter.default is ...:
            value = _gradient(values, source[1:])
        args.append(value)
    found = backward.torch_op(*args)
    found = found if isinstance(found, (tuple, list)) else [found]
    by_name = {arg["name"]: gradient for arg, gradient in zip(backward.outputs, found)}
    return {input_: by_name[output] for input_, output in rule.gives.items() if output in by_name}


def _gradient(values: Values, output: str) -> Any:
    """The gradient by an output: zeros where the caller did not use that."""
    found, of = values[f"d{output}"], values[output]
    return torch.zeros(of.shape, dtype=of.dtype, device=of.device) if found is None else found


def _before(act: str, x: Callable[[], Any], dy: Any) -> Any:
    """The gradient by x of act(x)."""
    return dy if act == "none" else OPS.activation_bwd(x(), dy, act=act)


def _of_add(attributes: Mapping[str, str], values: Values, wanted: set[str]) -> dict[str, Any]:
    dy = _before(attributes["act"], lambda: OPS.add(values["a"], values["b"]), values["dy"])
    return {name: dy for name in wanted}


def _of_mul(attributes: Mapping[str, str], values: Values, wanted: set[str]) -> dict[str, Any]:
    a, b = values["a"], values["b"]
    dy = _before(attributes["act"], lambda: OPS.mul(a, b), values["dy"])
    return {name: OPS.mul(dy, b if name == "a" else a) for name in wanted}


def _of_add_rmsnorm_silu(attributes: Mapping[str, str], values: Values, wanted: set[str]) -> dict[str, Any]:
    weight, eps = values["weight"], values["eps"]
    total, y = OPS.add_rmsnorm.store(values["x"], values["residual"], weight, eps)
    dx, dw = OPS.rmsnorm_bwd(total, weight, OPS.activation_bwd(y, values["dy"], act="silu"), eps)
    return {"x": dx, "residual": dx, "weight": dw}


def _of_rope(attributes: Mapping[str, str], values: Values, wanted: set[str]) -> dict[str, Any]:
    """By the opposite angles, and then of the norms."""
    dq, dk = OPS.rope(_gradient(values, "q_out"), _gradient(values, "k_out"), values["cos"], -values["sin"],
                      values["position"], style=attributes["style"])
    if attributes["norm"] == "no":
        return {"q": dq, "k": dk}
    dq, dwq = OPS.rmsnorm_bwd(values["q"], values["wq"], dq, values["eps"])
    dk, dwk = OPS.rmsnorm_bwd(values["k"], values["wk"], dk, values["eps"])
    return {"q": dq, "k": dk, "wq": dwq, "wk": dwk}


def is_served(dtype: torch.dtype, layout: str, math: str, bias: str = "no") -> bool:
    """Whether the cache has products of this layout, asked once of each state of it. Where no GPU is, and shapes alone
    are told, it is taken to."""
    try:
        launcher = default_launcher()
        known, key = launcher._known, (dtype, layout, math, bias)
        if key not in known:
            op = launcher.op("gemm", dtype=dtype_name(dtype), layout=layout, math=math, bias=bias)
            known[key] = bool(op.match(256, 256, 256))
        return bool(known[key])
    except DeviceError:
        return True


def _product(a: Any, b: Any, layout: str = "nt", math: str = "ieee", bias: Any = None) -> Any:
    if is_served(a.dtype, layout, math, "no" if bias is None else "yes"):
        return OPS.gemm(a, b, bias, layout=layout, math=math)
    made = (a.T if layout == "tn" else a) @ (b.T if layout == "nt" else b)
    return made if bias is None else made + bias


def _of_bias(dc: Any) -> Any:
    return dc.reshape(-1, dc.shape[-1]).sum(0, dtype=torch.float32)


def _of_operands(a: Any, b: Any, dc: Any, wanted: set[str], names: tuple[str, str, str] = ("a", "b", "bias"),
                 layout: str = "nt", math: str = "ieee") -> dict[str, Any]:
    """Gradients of c = a · b + bias under these names: the products of dc with b and a, in the layouts that they lie
    in."""
    rows, found = dc.reshape(-1, dc.shape[-1]), {}
    flat = a if layout == "tn" else a.reshape(-1, a.shape[-1])
    if names[0] in wanted:
        if layout == "tn":  # a[k,m], b[k,n]: b · dcᵀ
            found[names[0]] = _product(b, rows, "nt", math)
        else:
            found[names[0]] = _product(rows, b, "nn" if layout == "nt" else "nt", math).reshape(a.shape)
    if names[1] in wanted:
        if layout == "nt":  # b[n,k]: dcᵀ · a
            found[names[1]] = _product(rows, flat, "tn", math)
        else:  # b[k,n]: aᵀ · dc
            found[names[1]] = _product(flat, rows, "tn" if layout == "nn" else "nn", math)
    if names[2] in wanted:
        found[names[2]] = _of_bias(rows)
    return found


def _of_gemm(attributes: Mapping[str, str], values: Values, wanted: set[str]) -> dict[str, Any]:
    """Of c = act(a · b + bias) + residual. What act takes is computed again: no form keeps it."""
    a, b, layout, math = values["a"], values["b"], attributes["layout"], attributes["math"]
    dc = _before(attributes["act"], lambda: _product(a, b, layout, math, values["bias"]), values["dc"])
    return {"residual": values["dc"], **_of_operands(a, b, dc, wanted, layout=layout, math=math)}


def _of_gemm_dropout(attributes: Mapping[str, str], values: Values, wanted: set[str]) -> dict[str, Any]:
    """By bias_act_dropout_bwd, which drops the same elements."""
    a, b, act, bias = values["a"], values["b"], attributes["act"], values["bias"]
    dc = values["dc"].reshape(-1, b.shape[0])
    x = dc if act == "none" else _product(a.reshape(-1, a.shape[-1]), b)
    dx, dbias = OPS.bias_act_dropout_bwd(x, b.new_zeros(b.shape[0]) if bias is None else bias, dc, 1.0, values["p"],
                                         values["seed"], values["offset"], act=act)
    found = _of_operands(a, b, dx, wanted - {"bias"})
    return {**found, "bias": dbias, "residual": values["dc"]}


def _of_norm(name: str, *gives: str) -> Callable[..., dict[str, Any]]:
    """Of y = norm(s), s = a · b + bias + residual."""

    def found(attributes: Mapping[str, str], values: Values, wanted: set[str]) -> dict[str, Any]:
        ds, *sums = getattr(OPS, name)(values["s"], values["weight"], _gradient(values, "y"), values["eps"],
                                       values["ds"])
        return {"residual": ds, **dict(zip(gives, sums)), **_of_operands(values["a"], values["b"], ds, wanted)}

    return found


def _of_gated(act: str, gate: Any, up: Any, dy: Any) -> tuple[Any, Any]:
    """Of act(gate) · up."""
    if act == "silu":
        return OPS.swiglu_bwd(gate, up, dy)
    return OPS.activation_bwd(gate, OPS.mul(dy, up), act=act), OPS.mul(dy, OPS.activation(gate, act=act))


def _of_parts(values: Values, x: str, parts: Sequence[tuple[Any, str, str]], wanted: set[str]) -> dict[str, Any]:
    """Of several products of x: the gradient of each, and the names of its weight and bias. x gets their sum."""
    found: dict[str, Any] = {}
    for dy, weight, bias in parts:
        more = _of_operands(values[x], values[weight], dy, wanted, (x, weight, bias))
        if x in found:
            more[x] = found[x] + more[x]
        found.update(more)
    return found


def _of_gemm_gated(attributes: Mapping[str, str], values: Values, wanted: set[str]) -> dict[str, Any]:
    grads = _of_gated(attributes["act"], values["gate"], values["up"], _gradient(values, "y"))
    # Gate and up are outputs, whose own gradients come to those by y.
    dgate, dup = (one if own is None else one + own for one, own in zip(grads, (values["dgate"], values["dup"])))
    if attributes["weights"] == "split":
        return _of_parts(values, "a", [(dgate, "wg", "bg"), (dup, "wu", "bu")], wanted)
    is_packed = attributes["weights"] == "packed"
    both = torch.cat([dgate, dup], -1) if is_packed else torch.stack([dgate, dup], -1).flatten(-2)
    biases = {name: _of_bias(dy) for name, dy in (("bg", dgate), ("bu", dup)) if name in wanted}
    return {**biases, **_of_parts(values, "a", [(both, "w", "")], wanted)}


def _of_mlp(attributes: Mapping[str, str], values: Values, wanted: set[str]) -> dict[str, Any]:
    """What is between the products is computed again."""
    x, act, is_gated = values["x"], attributes["act"], attributes["gated"] == "yes"
    gate = _product(x, values["w_gate"], bias=values["b_gate"]) if is_gated else None
    up = _product(x, values["w_up"], bias=values["b_up"])
    if is_gated:
        hidden = OPS.swiglu(gate, up) if act == "silu" else OPS.mul(OPS.activation(gate, act=act), up)
    else:
        hidden = OPS.activation(up, act=act)
    found = _of_operands(hidden, values["w_down"], values["dy"], wanted | {"hidden"}, ("hidden", "w_down", "b_down"))
    if is_gated:
        dgate, dup = _of_gated(act, gate, up, found["hidden"])
        parts = [(dgate, "w_gate", "b_gate"), (dup, "w_up", "b_up")]
    else:
        parts = [(OPS.activation_bwd(up, found["hidden"], act=act), "w_up", "b_up")]
    return {**found, **_of_parts(values, "x", parts, wanted)}


_OF_SUM = {"x": "dx", "residual": "dx", "weight": "dw"}
RULES = {
    "add": Rule(by=_of_add),
    "mul": Rule(by=_of_mul),
    "add_rmsnorm": Rule("rmsnorm_bwd", {"x": "sum"}, _OF_SUM),
    "add_layernorm": Rule("layernorm_bwd", {"x": "sum"}, {**_OF_SUM, "bias": "db"}),
    "add_rmsnorm_silu": Rule(by=_of_add_rmsnorm_silu),
    "bias_act": Rule("bias_act_dropout_bwd", {}, {"x": "dx", "bias": "dbias"},
                     {"scale": 1.0, "p": 0.0, "seed": 0, "offset": 0}),
    "cross_entropy": Rule("cross_entropy", {}, {"logits": "dlogits"}, {"grad": "yes"}),
    "dropout": Rule("dropout", {"x": "dy"}, {"x": "y"}),
    "rope": Rule(by=_of_rope),
    "gemm": Rule(by=_of_gemm),
    "gemm_dropout": Rule(by=_of_gemm_dropout),
    "gemm_gated": Rule(by=_of_gemm_gated, keeps=frozenset({"gate", "up"})),
    "gemm_add_rmsnorm": Rule(by=_of_norm("rmsnorm_bwd", "weight"), keeps=frozenset({"s"})),
    "gemm_add_layernorm": Rule(by=_of_norm("layernorm_bwd", "weight", "norm_bias"), keeps=frozenset({"s"})),
    "mlp": Rule(by=_of_mlp),
}


def choose(forms: Mapping[tuple[str, ...], Form], words: Mapping[str, Any]) -> Form:
    """The form of these attributes; what is not said takes its default."""
    return next(form for form in forms.values()
                if all(words.get(name, form.definition["attributes"][name][0]) == value
                       for name, value in form.fixed.items()))


def register(forms: Forms) -> None:
    for name, of_op in forms.items():
        rule = rule_of(name, forms)
        for form in of_op.values():
            backward, setup = backward_of(form, rule, forms)
            form.differentiate(backward, setup)
