# SPDX-License-Identifier: Apache-2.0
"""Every built-in op as an op of torch:

    import tilewright.torch as tw
    y = tw.rmsnorm(x, weight, 1e-6)                     # allocates y
    tw.rmsnorm(x, weight, 1e-6, out=y)
    total, y = tw.add_rmsnorm(x, residual, weight, 1e-6, store=True)

Arguments are the inputs and scalars of the definition, in its order, those that may be absent last and by name;
attributes are keywords, and those that an argument tells (`bias`) are left out. `torch.compile` keeps the ops
(`torch.ops.tilewright`), autocast and gradients are theirs. `swap(model)` makes the layers of a model use them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from . import _definitions, _torch_gradients, _torch_op
from ._library import UsageError
from ._torch_op import Form, yes_no
from ._torch_swap import Swapped, swap

__all__ = ["Swapped", "ops", "swap"]

_forms = {definition["name"]: _torch_op.forms_of(definition) for definition in _definitions.load()}
_torch_gradients.register(_forms)


def _without(module: Any, name: str, default: Any) -> Any:
    return getattr(module, name, lambda: default)


_modes = _without(torch._C, "_len_torch_dispatch_stack", 1)
_function_mode = _without(torch._C, "_is_torch_function_mode_enabled", True)
_transform = _without(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", True)


def _is_direct(args: Sequence[Any]) -> bool:
    """Whether torch's dispatcher, which costs as much as the launch, would do nothing but call the kernel: plain
    tensors of a GPU, of which none asks for a gradient, and nobody who traces, transforms, casts or profiles."""
    if (torch.compiler.is_compiling() or _modes() or _function_mode() or _transform() is not None
            or torch.is_autocast_enabled("cuda") or torch._C._get_tracing_state() is not None
            or torch.autograd.forward_ad._current_level >= 0 or torch.autograd.profiler._is_profiler_enabled):
        return False
    no_gradient = not torch.is_grad_enabled()
    for arg in args:
        kind = type(arg)
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            if not arg.is_cuda or not (no_gradient or not arg.requires_grad):
                return False
        elif isinstance(arg, torch.Tensor):
            return False
    return True


def _function(name: str, forms: dict[tuple[str, ...], Form]) -> Any:
    first = next(iter(forms.values()))
    deciding = list(first.fixed.items())
    rule = _torch_gradients.rule_of(name, _forms)
    # By the values that decide: the form, the names of its outputs, and the form that keeps what a gradient needs.
    known = {}
    for words, form in forms.items():
        outputs = [arg["name"] for arg in form.outputs]
        needed = _torch_gradients.kept_by(form, rule, _forms) if rule else set()
        keeper = next((other for other in forms.values() if needed <= {arg["name"] for arg in other.outputs}), form)
        known[words] = (form, outputs, form if needed <= set(outputs) else keeper)

    def call(*args: Any, out: Any = None, **options: Any) -> Any:
        words = tuple([yes_no(options.pop(each, default)) for each, default in deciding])
        if words not in known:
            given = ", ".join([f"{each}={word}" for (each, _), word in zip(deciding, words)])
            raise UsageError(f"{name} has no {given}")
        form, outputs, keeper = known[words]
        if out is not None:
            outs = dict(zip(outputs, out if isinstance(out, (tuple, list)) else (out,)))
            if _is_direct((*args, *options.values())):
                form.run_into(*form.placed(args, options), **outs)
            else:
                form.torch_op_into(*args, **options, **outs)
            return out
        if _is_direct((*args, *options.values())):
            return form.run(*form.placed(args, options))
        if keeper is not form and torch.is_grad_enabled() and any(
                [isinstance(arg, torch.Tensor) and arg.requires_grad for arg in (*args, *options.values())]):
            made = keeper.torch_op(*args, **options)
            picked = [made[i] for i, arg in enumerate(keeper.outputs) if arg["name"] in outputs]
            return picked[0] if len(picked) == 1 else tuple(picked)
        return form.torch_op(*args, **options)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{first.definition['summary']}.\n\n" + "\n".join(str(form.torch_op._schema)
                                                                   for form in forms.values())
    return call


globals().update({name: _function(name, forms) for name, forms in _forms.items()})


def ops() -> list[str]:
    """The names of the ops."""
    return list(_forms)
