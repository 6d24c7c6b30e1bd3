# SPDX-License-Identifier: Apache-2.0
"""Every built-in op as an op of torch:

    import tilewright.torch as tw
    y = tw.rmsnorm(x, weight, 1e-6)                     # allocates y
    tw.rmsnorm(x, weight, 1e-6, out=y)
    y, total = tw.add_rmsnorm(x, residual, weight, 1e-6, store=True)

Arguments are the inputs and scalars of the definition, in its order, those that may be absent last and by name;
attributes are keywords, and those that an argument tells (`bias`) are left out. `torch.compile` keeps the ops
(`torch.ops.tilewright`), autocast and gradients are theirs. `swap(model)` makes the layers of a model use them."""
from __future__ import annotations

from typing import Any

import torch

from . import _definitions, _torch_gradients, _torch_op
from ._torch_op import Form, yes_no
from ._torch_swap import Swapped, swap

__all__ = ["Swapped", "ops", "swap"]

_forms = {definition["name"]: _torch_op.forms_of(definition) for definition in _definitions.load()}
_torch_gradients.register(_forms)


def _function(name: str, forms: dict[tuple[str, ...], Form]) -> Any:
    names = list(next(iter(forms.values())).fixed)
    defaults = [next(iter(forms))[i] for i in range(len(names))]
    by_words = {words: (form.torch_op, form.torch_op_into, [arg["name"] for arg in form.outputs])
                for words, form in forms.items()}
    rule = _torch_gradients.rule_of(name, _forms)
    keeping = {}
    for words, form in forms.items():
        needed = _torch_gradients.kept_by(form, rule, _forms) if rule else set()
        if not needed <= set(by_words[words][2]):
            better = next(other for other in by_words.values() if needed <= set(other[2]))
            keeping[words] = (better[0], [better[2].index(output) for output in by_words[words][2]])

    def call(*args: Any, out: Any = None, **options: Any) -> Any:
        words = tuple([yes_no(options.pop(each, default)) for each, default in zip(names, defaults)])
        if words not in by_words:
            raise _torch_op.UsageError(f"{name} has no {', '.join(f'{a}={b}' for a, b in zip(names, words))}")
        functional, into, outputs = by_words[words]
        if out is not None:
            outs = out if isinstance(out, (tuple, list)) else (out,)
            into(*args, **options, **dict(zip(outputs, outs)))
            return out
        if words in keeping and torch.is_grad_enabled() and any(
                [isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args]):
            keeper, places = keeping[words]
            made = keeper(*args, **options)
            return made[places[0]] if len(places) == 1 else tuple([made[i] for i in places])
        return functional(*args, **options)

    call.__name__ = call.__qualname__ = name
    first = next(iter(forms.values()))
    call.__doc__ = f"{first.definition['summary']}.\n\n" + "\n".join(str(form.torch_op._schema) for form in forms.values())
    return call


globals().update({name: _function(name, forms) for name, forms in _forms.items()})


def ops() -> list[str]:
    """The names of the ops."""
    return list(_forms)
