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

from typing import Any

import torch

from . import _torch_gradients
from ._library import UsageError
from ._torch_forms import FORMS as _forms
from ._torch_op import Form, is_direct, yes_no
from ._torch_swap import Swapped, swap

__all__ = ["Swapped", "ops", "swap"]



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
        if out is None and not options and is_direct(args):
            return first.run(*args)
        words = tuple([yes_no(options.pop(each, default)) for each, default in deciding])
        if words not in known:
            given = ", ".join([f"{each}={word}" for (each, _), word in zip(deciding, words)])
            raise UsageError(f"{name} has no {given}")
        form, outputs, keeper = known[words]
        if out is not None:
            outs = dict(zip(outputs, out if isinstance(out, (tuple, list)) else (out,)))
            if is_direct((*args, *options.values())):
                form.run_into(*form.placed(args, options), **outs)
            else:
                form.torch_op_into(*args, **options, **outs)
            return out
        if is_direct((*args, *options.values())):
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
