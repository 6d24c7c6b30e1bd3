# SPDX-License-Identifier: Apache-2.0
"""Layers of a model that use the ops of tilewright.torch. A layer keeps its parameters, name and hooks: its class
becomes one of ours that is derived from its own, whose forward serves what ours does not."""
from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch.nn import functional

from . import default_launcher
from ._library import Error, UsageError
from ._tensors import dtype_name
from ._torch_forms import FORMS
from ._torch_op import Form

_rmsnorm, _layernorm, _softmax, _swiglu, _gemm = (
    next(iter(FORMS[op].values())) for op in ("rmsnorm", "layernorm", "softmax", "swiglu", "gemm"))


class Swapped(NamedTuple):
    """What became of a layer: `op` serves it, or there is a reason why not."""

    name: str
    layer: str
    op: str | None
    why: str | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.layer}): {self.op or 'as it was: ' + str(self.why)}"


class _Layer:
    """What the layers have in common: what is not served goes the layer's own way."""

    own: Any  # the forward that was there
    eps_name: Any  # where that of an RMSNorm is

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Classes made here have no place where pickle finds them: what they are made of has. One derived from such a
        class is its author's."""
        found = super().__reduce_ex__(protocol)
        if "own" not in vars(type(self)):
            return found
        _, _, *state = found
        return (_made_again, (*type(self).__bases__, self.eps_name), *state)


def _is_served(op: Form, x: Any, weight: Any) -> bool:
    if not x.is_cuda or x.dim() < 2 or x.dtype not in op.dtypes:
        return False
    return x.dtype == weight.dtype or (torch.is_autocast_enabled("cuda") and weight.dtype in op.dtypes)


def _eps_name(layer: Any) -> str | None:
    return next((name for name in ("eps", "variance_epsilon") if hasattr(layer, name)), None)


@functools.cache
def _default_is_wide(dtype: torch.dtype) -> bool:
    x = torch.full((1, 2), 1e-2, dtype=dtype, device="cpu")
    return dtype.itemsize == 2 and functional.rms_norm(x, (2,))[0, 0].item() > 0.5


@torch.compiler.assume_constant_result
def _default_eps(dtype: torch.dtype) -> float:
    """What torch takes where a layer has none: newer versions that of float32 for types of 16 bits, too."""
    return torch.finfo(torch.float32 if _default_is_wide(dtype) else dtype).eps


def _eps(layer: Any, name: str, x: Any) -> float:
    eps = getattr(layer, name)
    return _default_eps(x.dtype) if eps is None else eps


class RMSNorm(_Layer):
    def forward(self, x: Any) -> Any:
        weight = self.weight
        return _rmsnorm(x, weight, _eps(self, self.eps_name, x)) if _is_served(_rmsnorm, x, weight) else self.own(x)


class LayerNorm(_Layer):
    def forward(self, x: Any) -> Any:
        weight = self.weight
        return _layernorm(x, weight, self.bias, self.eps) if _is_served(_layernorm, x, weight) else self.own(x)


class Softmax(_Layer):
    def forward(self, x: Any) -> Any:
        return _softmax(x) if _is_served(_softmax, x, x) else self.own(x)


class Linear(_Layer):
    def forward(self, x: Any) -> Any:
        weight = self.weight
        if not _is_served(_gemm, x, weight):
            return self.own(x)
        dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else x.dtype
        math = "tf32" if dtype == torch.float32 and torch.backends.cuda.matmul.allow_tf32 else "ieee"
        return _gemm(x, weight, self.bias, None, "nt", math)


class SwiGLU(_Layer):
    def forward(self, x: Any) -> Any:
        gate, up = self.gate_proj(x), self.up_proj(x)
        return self.down_proj(_swiglu(gate, up) if _is_served(_swiglu, gate, up) else functional.silu(gate) * up)


def _same(layer: Any, formula: Callable[[Any, Any], Any], cols: int) -> str | None:
    """Why not, where a copy with drawn parameters computes another thing than the formula."""
    try:
        with torch.no_grad():
            trial = copy.deepcopy(layer).to("cpu", torch.float32)
            generator = torch.Generator().manual_seed(1)
            for parameter in trial.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * parameter.shape[-1] ** -0.5)
            x = torch.randn(2, 3, cols, generator=generator)
            # Small numbers, too: beside large ones an eps counts for nothing.
            if all(torch.allclose(trial(each), formula(trial, each), rtol=1e-4, atol=1e-4) for each in (x, x * 1e-3)):
                return None
        return "it computes something else than its name says"
    except Exception as error:  # a layer of anybody's
        return f"a trial of it failed: {error}"


def _why_not_norm(layer: Any, formula: Callable[[Any, Any], Any]) -> str | None:
    weight = getattr(layer, "weight", None)
    if weight is None:
        return "it has no weight"
    if weight.dim() != 1:
        return f"it norms over {weight.dim()} extents; the op does over the last"
    return _same(layer, formula, weight.shape[0])


def _why_not_rmsnorm(layer: Any) -> str | None:
    eps = _eps_name(layer)
    if eps is None:
        return "it has no eps that is known"
    return _why_not_norm(layer, lambda trial, x: functional.rms_norm(x, x.shape[-1:], trial.weight,
                                                                     _eps(trial, eps, x)))


def _why_not_layernorm(layer: Any) -> str | None:
    if getattr(layer, "bias", None) is None:
        return "it has no bias"
    return _why_not_norm(layer, lambda trial, x: functional.layer_norm(x, x.shape[-1:], trial.weight, trial.bias,
                                                                       trial.eps))


def _why_not_softmax(layer: Any) -> str | None:
    return None if layer.dim == -1 else f"its dim is {layer.dim}; name the last extent as -1"


def _why_not_swiglu(layer: Any) -> str | None:
    def formula(trial: Any, x: Any) -> Any:
        return trial.down_proj(functional.silu(trial.gate_proj(x)) * trial.up_proj(x))

    return _same(layer, formula, layer.gate_proj.weight.shape[1])


def _why_not_linear(layer: Any) -> str | None:
    return None if type(layer) is torch.nn.Linear else f"{type(layer).__name__} is no plain torch.nn.Linear"


class _Kind(NamedTuple):
    op: str
    ours: type
    is_one: Callable[[Any], bool]
    why_not: Callable[[Any], str | None]


# In this order: what is swapped first is not asked again.
_KINDS = (
    _Kind("rmsnorm", RMSNorm, lambda layer: type(layer).__name__.endswith("RMSNorm"), _why_not_rmsnorm),
    _Kind("layernorm", LayerNorm, lambda layer: isinstance(layer, torch.nn.LayerNorm), _why_not_layernorm),
    _Kind("softmax", Softmax, lambda layer: isinstance(layer, torch.nn.Softmax), _why_not_softmax),
    _Kind("swiglu", SwiGLU, lambda layer: all(isinstance(getattr(layer, name, None), torch.nn.Module)
                                              for name in ("gate_proj", "up_proj", "down_proj")), _why_not_swiglu),
    _Kind("gemm", Linear, lambda layer: isinstance(layer, torch.nn.Linear), _why_not_linear),
)


@functools.cache
def _class_of(ours: type, theirs: type, eps: str | None) -> type:
    return type(f"Tilewright{theirs.__name__}", (ours, theirs),
                {"own": theirs.forward, "eps_name": eps, "__module__": __name__})


def _made_again(ours: type, theirs: type, eps: str | None) -> Any:
    made = _class_of(ours, theirs, eps)
    return made.__new__(made)


def swap(model: torch.nn.Module, ops: Iterable[str] = ("rmsnorm", "layernorm", "softmax", "swiglu", "gemm"), *,
         dry_run: bool = False) -> list[Swapped]:
    """Makes the norms, softmaxes, linear layers and SwiGLUs of a model, its own and those of its parts, use `ops`, and
    says of each what became of it. By the names of torch.nn and of Llama's layers and its kin (…RMSNorm; gate_proj,
    up_proj and down_proj); a layer that computes something else, as a trial on drawn numbers tells, stays as it was,
    as does one of a dtype that the op lacks. Where the cache has no winners for a swapped layer, its call raises.
    Tensors that are on no GPU, have one extent, or are of another dtype than the weight or of one that the op lacks, go
    the layer's own way."""
    wanted, known, found = set(ops), [kind.op for kind in _KINDS], []
    if not wanted <= set(known):
        raise UsageError(f"swap knows no {', '.join(sorted(wanted - set(known)))}; it swaps {', '.join(known)}")
    for name, layer in list(model.named_modules()):
        kind = next((kind for kind in _KINDS if kind.op in wanted and kind.is_one(layer)), None)
        if kind is None or isinstance(layer, _Layer):
            continue
        why = _why_not(layer, kind)
        if why is None and not dry_run:
            layer.__class__ = _class_of(kind.ours, type(layer), _eps_name(layer))
        found.append(Swapped(name or "the model", type(layer).__name__.removeprefix("Tilewright"),
                             None if why else kind.op, why))
    return found


def _why_not(layer: Any, kind: _Kind) -> str | None:
    weight = next(layer.parameters(), None)
    try:
        if weight is not None:
            default_launcher().op(kind.op, dtype=dtype_name(weight.dtype))
    except Error as error:
        return str(error)
    if layer.__dict__.get("forward") is not None:
        return "its forward is already replaced"
    return kind.why_not(layer)
