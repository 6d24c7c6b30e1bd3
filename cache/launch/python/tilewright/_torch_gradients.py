# SPDX-License-Identifier: Apache-2.0
"""Gradients of the ops, by the ops that compute them. Of OP that is OP_bwd, by the names of its arguments: what has the
name of an argument of OP is that, `dy` is the gradient by y, and the output dx, or dw, that by x, or the input whose
name begins with w. RULES has what names do not tell."""
from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch

from . import default_launcher
from ._library import DeviceError, UsageError
from ._tensors import dtype_name
from ._torch_op import Form

Forms = Mapping[str, Mapping[tuple[str, ...], Form]]


@dataclasses.dataclass
class Rule:
    """The op that gives gradients, its arguments by the names of the forward op's where they differ, the outputs that
    are gradients by the input, scalars that are given, attributes of the forward op without which there is none."""

    op: str
    takes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    gives: Mapping[str, str] = dataclasses.field(default_factory=dict)
    given: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    only: Mapping[str, str] = dataclasses.field(default_factory=dict)


_OF_SUM = {"x": "dx", "residual": "dx", "weight": "dw"}
RULES = {
    "add_rmsnorm": Rule("rmsnorm_bwd", {"x": "sum"}, _OF_SUM),
    "add_layernorm": Rule("layernorm_bwd", {"x": "sum"}, {**_OF_SUM, "bias": "db"}),
    "bias_act": Rule("bias_act_dropout_bwd", {}, {"x": "dx", "bias": "dbias"},
                     {"scale": 1.0, "p": 0.0, "seed": 0, "offset": 0}),
    "cross_entropy": Rule("cross_entropy", {}, {"logits": "dlogits"}, {"grad": "yes"}),
    "dropout": Rule("dropout", {"x": "dy"}, {"x": "y"}),
    # By the opposite angles.
    "rope": Rule("rope", {"q": "dq_out", "k": "dk_out", "sin": "-sin"}, {"q": "q_out", "k": "k_out"},
                 only={"norm": "no"}),
}


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
    backward = next(iter(forms[rule.op].values()))
    names = {arg["name"] for arg in form.definition["args"] if arg["role"] == "out"}
    needed = {rule.takes.get(parameter.name, parameter.name) for parameter in backward.parameters
              if parameter.kind == "tensor"}
    return names & needed if rule.op != form.definition["name"] else set()


def backward_of(form: Form, rule: Rule | None, forms: Forms) -> Any:
    """What register_autograd takes."""

    # Of lse there is no gradient.
    taken = rule and {rule.takes.get(parameter.name, parameter.name)
                      for backward in forms[rule.op].values() for parameter in backward.parameters}

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        outputs = output if isinstance(output, (tuple, list)) else (output,)
        tensors = [arg for arg in inputs if isinstance(arg, torch.Tensor)]
        ctx.set_materialize_grads(False)
        ctx.others = [None if isinstance(arg, torch.Tensor) else arg for arg in inputs]
        ctx.is_tensor = [isinstance(arg, torch.Tensor) for arg in inputs]
        ctx.save_for_backward(*tensors, *outputs)
        if taken is not None:
            ctx.mark_non_differentiable(*(output for arg, output in zip(form.outputs, outputs)
                                          if f"d{arg['name']}" not in taken))

    def backward(ctx: Any, *grads: Any) -> Any:
        name = form.definition["name"]
        saved = iter(ctx.saved_tensors)
        inputs = [next(saved) if is_tensor else other for is_tensor, other in zip(ctx.is_tensor, ctx.others)]
        attributes = form.attributes_of(inputs)
        values = {parameter.name: value for parameter, value in zip(form.parameters, inputs)}
        for arg, output, grad in zip(form.outputs, saved, grads):
            values[arg["name"]] = output
            values[f"d{arg['name']}"] = grad
        # Shorter where torch leaves out defaults.
        wanted = {parameter.name for parameter, needed in zip(form.parameters, ctx.needs_input_grad) if needed}
        if name == "gemm":
            found = _of_product(attributes, values, wanted)
        else:
            found = _by_rule(form, rule, forms, attributes, values, inputs)
        missing = [parameter for parameter in wanted if parameter not in found]
        if missing:
            raise UsageError(f"{form.name} has no gradient by {', '.join(missing)}; detach it")
        return tuple(found[parameter.name].to(values[parameter.name].dtype) if parameter.name in wanted else None
                     for parameter in form.parameters)

    return backward, setup


def _by_rule(form: Form, rule: Rule | None, forms: Forms, attributes: dict[str, str], values: dict[str, Any],
             inputs: list[Any]) -> dict[str, Any]:
    name = form.definition["name"]
    if rule is None:
        raise UsageError(f"{form.name} has no gradient: there is no op {name}_bwd; call it within torch.no_grad(), or "
                         "detach its arguments")
    for attribute, value in rule.only.items():
        if attributes.get(attribute, value) != value:
            raise UsageError(f"{form.name} has a gradient with {attribute}={value} alone")
    outputs = {arg["name"] for arg in form.outputs}
    for output in kept_by(form, rule, forms) - outputs:
        raise UsageError(f"{form.name} does not keep {output}, which its gradient needs; call "
                         f"tilewright.torch.{name}, which chooses the form that does")
    words = {**attributes, **rule.given}
    backward = choose(forms[rule.op], words)
    args = []
    for parameter in backward.parameters:
        source = rule.takes.get(parameter.name, parameter.name)
        value: Any = rule.given.get(source, values.get(source.lstrip("-"), parameter.default))
        if parameter.kind == "dim":
            value = form.understand(inputs).names[parameter.name]
        elif parameter.name == "deterministic":
            value = torch.are_deterministic_algorithms_enabled()
        elif parameter.kind == "attribute":
            value = attributes.get(source, parameter.default)
            value = value in ("yes", True) if parameter.type == "bool" else value
        elif parameter.kind == "tensor" and value is None and parameter.default is ...:
            value = torch.zeros_like(values[source[1:]])  # what the caller did not use
        args.append(-value if source.startswith("-") else value)
    found = backward.torch_op(*args)
    found = found if isinstance(found, (tuple, list)) else [found]
    by_name = {arg["name"]: gradient for arg, gradient in zip(backward.outputs, found)}
    return {input_: by_name[output] for input_, output in rule.gives.items() if output in by_name}


def is_served(dtype: torch.dtype, layout: str, math: str) -> bool:
    """Whether the cache has products of this layout, asked once of each state of it. Where no GPU is, and shapes alone
    are told, it is taken to."""
    try:
        launcher = default_launcher()
        known, key = launcher._known, (dtype, layout, math)
        if key not in known:
            op = launcher.op("gemm", dtype=dtype_name(dtype), layout=layout, math=math)
            known[key] = bool(op.match(256, 256, 256))
        return bool(known[key])
    except DeviceError:
        return True


def _of_product(attributes: dict[str, str], values: dict[str, Any], wanted: set[str]) -> dict[str, Any]:
    """c = a · b + bias + residual: the products of the gradient with b and a, in the layouts that they lie in."""
    dc = values["dc"]
    if attributes.get("act", "none") != "none":
        raise UsageError(f"tilewright::gemm has a gradient with act=none alone, not with {attributes['act']}: apply "
                         "tilewright.torch.activation after it")
    a, b, layout, math = values["a"], values["b"], attributes["layout"], attributes["math"]
    rows, found = dc.reshape(-1, dc.shape[-1]), {"residual": dc}

    def product(left: Any, right: Any, order: str) -> Any:
        if is_served(left.dtype, order, math):
            return torch.ops.tilewright.gemm(left, right, layout=order, math=math)
        return (left.T if order == "tn" else left) @ (right.T if order == "nt" else right)

    flat = a if layout == "tn" else a.reshape(-1, a.shape[-1])
    if "a" in wanted:
        if layout == "tn":  # a[k,m], b[k,n]: b · dcᵀ
            found["a"] = product(b, rows, "nt")
        else:
            found["a"] = product(rows, b, "nn" if layout == "nt" else "nt").reshape(a.shape)
    if "b" in wanted:
        if layout == "nt":  # b[n,k]: dcᵀ · a
            found["b"] = product(rows, flat, "tn")
        else:  # b[k,n]: aᵀ · dc
            found["b"] = product(flat, rows, "tn" if layout == "nn" else "nn")
    if "bias" in wanted:
        found["bias"] = rows.sum(0, dtype=torch.float32)
    return found


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
