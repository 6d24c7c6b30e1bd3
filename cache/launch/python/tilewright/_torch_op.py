# SPDX-License-Identifier: Apache-2.0
"""The built-in ops as ops of torch. An op has a form for each set of outputs that its attributes allow: rms norm of a
sum keeps the sum in the form `store`. Forms are torch's overloads, each functional and, with `out` in its name, into
given tensors. What a form needs to know is in the op's definition."""
from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch._library import autograd as _autograd

from . import _definitions, _streams, _tensors, default_launcher
from ._library import InterfaceError, UsageError
from ._op import Op

NAMESPACE = "tilewright"
LIBRARY = torch.library.Library(NAMESPACE, "DEF")
TYPES = {short: getattr(torch, long) for long, short in _tensors.TORCH_TYPES.items() if long != "bool"}
# Layouts that never come again must not fill the memory.
_MOST_REMEMBERED = 4096
_BELOW_AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA)


class Parameter(NamedTuple):
    """An argument of a form: of its op, or a dim that no tensor tells, or an attribute."""

    name: str
    kind: str  # tensor, scalar, dim, attribute
    type: str  # of the definition; of an attribute bool or str
    default: Any = ...

    @property
    def schema(self) -> str:
        if self.kind == "tensor":
            word = "Tensor"
        elif self.kind == "attribute":
            word = self.type
        else:
            word = "float" if self.type in ("f32", "f64") else "SymInt"
        if self.default is ...:
            return f"{word} {self.name}"
        if self.default is None:
            return f"{word}? {self.name}=None"
        return f'{word} {self.name}="{self.default}"' if word == "str" else f"{word} {self.name}={self.default}"


class Call(NamedTuple):
    """What the arguments of a call say."""

    attributes: dict[str, str]
    names: dict[str, Any]  # dims, attributes and dtype
    tensors: list[tuple[dict[str, Any], Any]]  # arguments of the definition that are given
    outputs: list[tuple[list[Any], torch.dtype]]


def _without(module: Any, name: str, default: Any) -> Any:
    return getattr(module, name, lambda: default)


_modes = _without(torch._C, "_len_torch_dispatch_stack", 1)
_function_mode = _without(torch._C, "_is_torch_function_mode_enabled", True)
_transform = _without(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", True)


def is_plain(args: Sequence[Any]) -> bool:
    """Whether torch's dispatcher, which costs as much as the launch, would do nothing but see to gradients and call the
    kernel: plain tensors of a GPU, and nobody who traces, transforms, casts or profiles."""
    if (torch.compiler.is_compiling() or _modes() or _function_mode() or _transform() is not None
            or torch.is_autocast_enabled("cuda") or torch._C._get_tracing_state() is not None
            or torch.autograd.forward_ad._current_level >= 0 or torch.autograd.profiler._is_profiler_enabled):
        return False
    for arg in args:
        kind = type(arg)
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            if not arg.is_cuda:
                return False
        elif isinstance(arg, torch.Tensor):
            return False
    return True


def is_direct(args: Sequence[Any]) -> bool:
    """Whether they are plain, and none asks for a gradient."""
    return is_plain(args) and not (torch.is_grad_enabled() and torch._C._any_requires_grad(*args))


def is_present(arg: dict[str, Any], attributes: dict[str, str]) -> bool:
    return bool(_definitions.evaluate(arg.get("when", "True"), attributes))


def yes_no(value: Any) -> Any:
    return {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value


class Form:
    """An op with a set of outputs, as torch calls it."""

    def __init__(self, definition: dict[str, Any], fixed: dict[str, str], overload: str):
        self.definition, self.fixed, self.overload = definition, fixed, overload
        self.name = f"{NAMESPACE}::{definition['name']}{'.' if overload else ''}{overload}"
        attributes = definition.get("attributes", {})
        places = {place for arg in definition["args"] for place in [arg.get("pitch"), *arg.get("strides", ())] if place}
        args = [arg for arg in definition["args"] if arg["name"] not in places]
        self.inputs = [arg for arg in args if arg["role"] == "in"]
        self.dtypes = tuple(TYPES[name] for name in definition["dtypes"] if name in TYPES)
        given = [arg for arg in args if arg["role"] != "out"]
        # The attributes that decide which arguments there are, with what they decide.
        deciding = sorted({name for arg in given for name in _definitions.names_in(arg.get("when", "1"))} - {"dtype"},
                          key=list(attributes).index)
        self.choices: list[tuple[dict[str, str], frozenset[str]]] = []
        for values in itertools.product(*(attributes[name] for name in deciding)):
            choice = {**dict(zip(deciding, values)), **fixed}
            present = frozenset(arg["name"] for arg in given if is_present(arg, choice))
            if (choice, present) not in self.choices:
                self.choices.append((choice, present))
        given = [arg for arg in given if any(arg["name"] in present for _, present in self.choices)]
        self.optional = {arg["name"] for arg in given
                         if not all(arg["name"] in present for _, present in self.choices)}
        self.outputs = [arg for arg in args if arg["role"] == "out" and is_present(arg, self.choices[0][0])]

        told = {name for arg in given if "shape" in arg for extent in arg["shape"]
                for name in _definitions.names_in(extent)}
        parameters = [Parameter(arg["name"], "scalar" if arg["role"] == "scalar" else "tensor",
                                arg.get("type", "dtype"), None if arg["name"] in self.optional else ...)
                      for arg in given]
        parameters += [Parameter(dim, "dim", "i64") for dim in definition["dims"] if dim not in told]
        ambiguous = {name for (one, with_one), (two, with_two) in itertools.combinations(self.choices, 2)
                     if with_one == with_two for name in one if one[name] != two[name]}
        for name, values in attributes.items():
            if name in ambiguous:
                parameters.append(Parameter(name, "attribute", "str", None))
            elif name not in deciding and name not in fixed and name != "pitch":
                is_flag = set(values) == {"yes", "no"}
                parameters.append(Parameter(name, "attribute", "bool" if is_flag else "str",
                                            values[0] == "yes" if is_flag else values[0]))
        self.parameters = sorted(parameters, key=lambda parameter: parameter.default is not ...)
        self.defaults = tuple(None if parameter.default is ... else parameter.default for parameter in self.parameters)
        self.places = {parameter.name: i for i, parameter in enumerate(self.parameters)}
        self._of_tensors = [self.places[arg["name"]] for arg in self.inputs if arg["name"] in self.places]
        self._of_words = [i for i, parameter in enumerate(self.parameters) if parameter.kind in ("dim", "attribute")]
        # What is given is known by scalars, too, where they are optional.
        self._of_optional_scalars = [i for i, parameter in enumerate(self.parameters)
                                     if parameter.kind == "scalar" and parameter.default is None]
        self._plans: dict[Any, Plan] = {}
        self._attributes: dict[Any, dict[str, str]] = {}
        self._has_tensor_cores = "tensor_cores" in definition or "f32" not in definition["dtypes"]
        self._register()

    def _register(self) -> None:
        given = ", ".join(parameter.schema for parameter in self.parameters)
        name = self.definition["name"]
        results = ["Tensor"] * len(self.outputs)
        LIBRARY.define(f"{name}{'.' if self.overload else ''}{self.overload}({given}) -> "
                       + (f"({', '.join(results)})" if len(results) > 1 else results[0]))
        into = f"{name}.{self.overload}{'_' if self.overload else ''}out"
        written = ", ".join(f"Tensor({chr(97 + i)}!) {arg['name']}" for i, arg in enumerate(self.outputs))
        LIBRARY.define(f"{into}({given}, *, {written}) -> ()")
        self.torch_op = torch._library.utils.lookup_op(self.name)
        self.torch_op_into = torch._library.utils.lookup_op(f"{NAMESPACE}::{into}")
        LIBRARY.impl(self.name, self.run, "CompositeExplicitAutograd")
        LIBRARY.impl(f"{NAMESPACE}::{into}", self.run_into, "CompositeExplicitAutograd")
        LIBRARY.impl(self.name, self.run_cast, "AutocastCUDA")
        torch.library.register_fake(self.name, self.fake, lib=LIBRARY)
        torch.library.register_fake(f"{NAMESPACE}::{into}", self.fake_into, lib=LIBRARY)

    def differentiate(self, backward: Any, setup: Any) -> None:
        """By what torch.library.register_autograd takes. What that registers asks the dispatcher again, and for what is
        plain, this does not."""
        torch.library.register_autograd(self.name, backward, setup_context=setup, lib=LIBRARY)
        rest = _autograd.make_autograd_impl(self.torch_op, _autograd.Info(backward, setup))

        def forward(ctx: Any, *args: Any) -> Any:
            made = self.run(*args)
            setup(ctx, args, made)
            return made

        functions = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        recorded = type(self.name.replace(":", "_"), (torch.autograd.Function,), functions).apply

        def differentiable(keys: Any, *args: Any) -> Any:
            if not is_plain(args):
                return rest(keys, *args)
            if torch.is_grad_enabled() and torch._C._any_requires_grad(*args):
                return recorded(*self.filled(args))
            return self.run(*args)

        self.differentiable = differentiable
        LIBRARY.impl(self.name, differentiable, "AutogradCUDA", with_keyset=True)

    def filled(self, args: Sequence[Any]) -> Sequence[Any]:
        """With the defaults that torch leaves out."""
        if len(args) == len(self.defaults):
            return args
        if len(args) > len(self.defaults):
            raise UsageError(f"{self.definition['name']} takes {', '.join(self.places)}; the call passes {len(args)} "
                             "arguments")
        return (*args, *self.defaults[len(args):])

    def placed(self, args: Sequence[Any], options: dict[str, Any]) -> Sequence[Any]:
        """The arguments in the schema's order."""
        if not options:
            return args
        values = list(self.filled(args))
        for name, value in options.items():
            if name not in self.places:
                raise UsageError(f"{self.definition['name']} has no argument '{name}'; it has {', '.join(self.places)}")
            values[self.places[name]] = value
        return values

    def attributes_of(self, args: Sequence[Any]) -> dict[str, str]:
        """As the call says them, and as its arguments tell them."""
        given = frozenset(parameter.name for parameter, arg in zip(self.parameters, args)
                          if arg is not None and parameter.kind in ("tensor", "scalar"))
        words = tuple((parameter.name, yes_no(arg)) for parameter, arg in zip(self.parameters, args)
                      if parameter.kind == "attribute" and arg is not None)
        known = self._attributes.get((given, words))
        if known is None:
            known = self._attributes[given, words] = self._find_attributes(given, dict(words))
        return known

    def _find_attributes(self, given: frozenset[str], words: dict[str, str]) -> dict[str, str]:
        op = self.definition["name"]
        for name, value in words.items():
            allowed = self.definition["attributes"][name]
            if value not in allowed:
                raise UsageError(f"{op} has no {name}={value}; {name} is one of {', '.join(allowed)}")
        for choice, present in self.choices:
            if present == given and all(words.get(name, value) == value for name, value in choice.items()):
                return {**choice, **words}
        sets = "; or ".join(dict.fromkeys(", ".join(name for name in self.places if name in present)
                                          for _, present in self.choices))
        raise UsageError(f"{op} takes {sets}; the call passes {', '.join(sorted(given, key=self.places.__getitem__))}")

    def understand(self, args: Sequence[Any]) -> Call:
        """Dims, attributes and outputs of a call; raises a UsageError where arguments do not go together."""
        op, attributes = self.definition["name"], self.attributes_of(args)
        given = [arg["name"] for arg in self.inputs if arg["name"] in self.places and
                 args[self.places[arg["name"]]] is not None]
        tensors = [(arg, args[self.places[arg["name"]]]) for arg in self.inputs if arg["name"] in given]
        dtype = next((tensor.dtype for arg, tensor in tensors if arg.get("type", "dtype") == "dtype"), torch.float32)
        names: dict[str, Any] = {**attributes, "dtype": _tensors.dtype_name(dtype)}
        if names["dtype"] not in self.definition["dtypes"]:
            raise UsageError(f"{op} has no kernels of {names['dtype']}; it is of "
                             f"{', '.join(self.definition['dtypes'])}")
        names.update((parameter.name, args[i]) for i, parameter in enumerate(self.parameters)
                     if parameter.kind == "dim")
        batches: dict[str, Any] = {}  # what leading extents are made of
        for arg, tensor in tensors:
            self._check(arg, tensor, names, batches, dtype)
        outputs = []
        for arg in self.outputs:
            first, *rest = [_definitions.resolved(extent, names) for extent in arg["shape"]]
            lead = batches.get(ast.unparse(first)) or [_definitions.value(first, names)]
            outputs.append(([*lead, *(_definitions.value(extent, names) for extent in rest)],
                            TYPES.get(arg.get("type", "dtype"), dtype)))
        return Call(attributes, names, tensors, outputs)

    def _check(self, arg: dict[str, Any], tensor: Any, names: dict[str, Any], batches: dict[str, Any],
               dtype: torch.dtype) -> None:
        where = f"{self.definition['name']}: '{arg['name']}'"
        wanted = TYPES.get(arg.get("type", "dtype"), dtype)
        if tensor.dtype != wanted:
            raise UsageError(f"{where} has elements of {tensor.dtype}; with the other arguments it takes {wanted}")
        formulas = [_definitions.resolved(extent, names) for extent in arg["shape"]]
        extra = tensor.dim() - len(formulas)
        if extra < 0:
            raise UsageError(f"{where} has the shape {tuple(tensor.shape)}; it takes {len(formulas)} extents")
        lead = list(tensor.shape[: extra + 1])
        for i, (formula, extent) in enumerate(zip(formulas, [math.prod(lead), *tensor.shape[extra + 1:]])):
            _definitions.solve(formula, extent, names, f"{where}, of shape {tuple(tensor.shape)}: extent {i + extra}")
        batches.setdefault(ast.unparse(formulas[0]), lead)

    def fake(self, *args: Any) -> Any:
        args = self.filled(args)
        call = self.understand(args)
        first = call.tensors[0][1]
        made = tuple(first.new_empty(shape, dtype=dtype) for shape, dtype in call.outputs)
        return made if len(made) > 1 else made[0]

    def fake_into(self, *args: Any, **outs: Any) -> None:
        self._check_outs(self.understand(self.filled(args)), outs)

    def _check_outs(self, call: Call, outs: dict[str, Any]) -> None:
        for arg, (shape, dtype) in zip(self.outputs, call.outputs):
            out = outs[arg["name"]]
            if list(out.shape) != shape or out.dtype != dtype:
                raise UsageError(f"{self.definition['name']}: '{arg['name']}' has the shape {tuple(out.shape)} of "
                                 f"{out.dtype}; this call gives {tuple(shape)} of {dtype}")

    def run_cast(self, *args: Any) -> Any:
        """Under autocast: products of matrices in its dtype, all else in that of the first tensor, whose weights may be
        kept wider. Sums are in fp32 either way."""
        args = list(self.filled(args))
        of_dtype = [self.places[arg["name"]] for arg in self.inputs
                    if arg.get("type", "dtype") == "dtype" and args[self.places[arg["name"]]] is not None]
        if of_dtype:
            target = torch.get_autocast_dtype("cuda") if self._has_tensor_cores else args[of_dtype[0]].dtype
            for i in of_dtype:
                if args[i].is_floating_point() and args[i].dtype != torch.float64:
                    args[i] = args[i].to(target)
        with torch._C._ExcludeDispatchKeyGuard(_BELOW_AUTOCAST):
            return self.torch_op(*args)

    def __call__(self, *args: Any) -> Any:
        """As torch calls it, by the shortest way."""
        return self.run(*args) if is_direct(args) else self.torch_op(*args)

    def run(self, *args: Any) -> Any:
        args = self.filled(args)
        made = self._plan(args).launch(args)
        return made[0] if len(made) == 1 else tuple(made)

    def run_into(self, *args: Any, **outs: Any) -> None:
        args = self.filled(args)
        if torch.is_grad_enabled() and any(isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args):
            raise UsageError(f"{self.definition['name']}: what is written to out= has no gradient, and an argument "
                             "requires one; call it without out=, or within torch.no_grad()")
        given = [outs[arg["name"]] for arg in self.outputs]
        self._plan(args, given).launch(args, given)
        # Kernels write behind autograd's back: what was saved of these is not what it was.
        for tensor in given:
            if not tensor.is_inference():
                torch.autograd.graph.increment_version(tensor)

    def _plan(self, args: Sequence[Any], outs: Sequence[Any] = ()) -> Plan:
        key = [args[i] for i in self._of_words]
        for i in self._of_optional_scalars:
            key.append(args[i] is None)
        for i in self._of_tensors:
            tensor = args[i]
            if tensor is None:
                key.append(None)
                continue
            try:
                key += tensor.shape, tensor.dtype, tensor.stride(), tensor.get_device()
            except AttributeError:
                raise UsageError(f"{self.definition['name']}: '{self.parameters[i].name}' is {tensor!r} and no "
                                 "tensor") from None
        for tensor in outs:
            key += tensor.shape, tensor.dtype, tensor.stride(), tensor.get_device()
        found = self._plans.get(known := tuple(key))
        if found is None or not found.is_usable():
            if len(self._plans) >= _MOST_REMEMBERED:
                self._plans.clear()
            found = self._plans[known] = Plan(self, args, outs)
        return found


class Plan:
    """How a form is launched with arguments of one layout."""

    def __init__(self, form: Form, args: Sequence[Any], outs: Sequence[Any]):
        call = form.understand(args)
        self._device = call.tensors[0][1].device
        self._outputs = [(tuple(shape), _dense(shape), dtype) for shape, dtype in call.outputs]
        if outs:
            form._check_outs(call, {arg["name"]: out for arg, out in zip(form.outputs, outs)})
        empty = [i for i, (_, tensor) in enumerate(call.tensors) if 0 in tensor.shape]
        # A sum of nothing, and where outputs are empty, nothing at all.
        self._is_zero = empty and (len(empty) == len(call.tensors) or any(0 in shape for shape, _ in call.outputs))
        if self._is_zero:
            return
        if empty:  # a sum of nothing, and what else the outputs are made of
            call = form.understand([_widened(arg) for arg in args])
        self._sources = [form.places[arg["name"]] for arg, _ in call.tensors]
        # A dense copy of what the op cannot read where it lies.
        pitches = {"pitch": "dense"} if "pitch" in form.definition.get("attributes", {}) else {}
        layouts, self._copied = self._layouts(form, call, outs, strided=bool(pitches))
        if pitches and any(layout.strides is not None for layout in layouts):
            strided = self._op(form, call, {"pitch": "strided"})
            must = any(layout.strides is not None for layout in layouts[len(call.tensors):])  # what is written lies so
            if must or strided.match(*(call.names[dim] for dim in form.definition["dims"])):
                pitches = {"pitch": "strided"}
            else:
                layouts, self._copied = self._layouts(form, call, outs, strided=False)
        self._copied += [(i, _widened) for i in empty]
        op = self._op(form, call, pitches)
        made = [_tensors.Layout(_tensors.dtype_name(dtype), shape, None, self._device.index, False)
                for shape, _, dtype in self._outputs]
        by_name = dict(zip([*(arg["name"] for arg, _ in call.tensors), *(arg["name"] for arg in form.outputs)],
                           itertools.count()))
        wanted = [arg.name for arg in op._plan.tensors]
        if set(wanted) != set(by_name):
            raise InterfaceError(f"{op.spec} of the cache takes {', '.join(wanted)}; the definition that "
                                 f"tilewright.torch has read names {', '.join(by_name)}: they are of two versions")
        order = [by_name[name] for name in wanted]
        self._order = None if order == sorted(order) else order
        everything = layouts if outs else layouts + made
        dims = [call.names[dim] for dim in form.definition["dims"]]
        self._prepared = op._plan.prepare([everything[i] for i in order], op._dims_of, dims)
        self._scalars = [form.places[arg.name] for arg in op._plan.scalars]
        torch_ = _streams.torch_if_imported()
        assert torch_ is not None
        self._torch = op._torch = torch_
        self._served, self._index = op, self._device.index

    def is_usable(self) -> bool:
        """Its launcher may have been closed; the next plan opens another."""
        return bool(self._is_zero) or self._served._launcher.is_open

    def _op(self, form: Form, call: Call, pitches: dict[str, str]) -> Op:
        return default_launcher().op(form.definition["name"], dtype=call.names["dtype"], **call.attributes, **pitches)

    def _layouts(self, form: Form, call: Call, outs: Sequence[Any],
                 strided: bool) -> tuple[list[_tensors.Layout], list[tuple[int, Any]]]:
        """Of the tensors as they are launched, and which of them are copied for that."""
        layouts, copied = [], []
        for i, (arg, tensor) in enumerate(call.tensors):
            extra = tensor.dim() - len(arg["shape"])
            if arg.get("strides"):
                if extra or not _is_apart(tensor):
                    copied.append((i, lambda tensor, extra=extra: tensor.contiguous().flatten(0, extra)))
            elif not tensor.is_contiguous() and not (strided and arg.get("pitch") and _has_pitch(tensor)):
                copied.append((i, torch.Tensor.contiguous))
            shown = copied[-1][1](tensor) if copied and copied[-1][0] == i else tensor
            layouts.append(_layout(form, arg, shown))
        return [*layouts, *(_layout(form, arg, out) for arg, out in zip(form.outputs, outs))], copied

    def launch(self, args: Sequence[Any], outputs: Sequence[Any] | None = None) -> Sequence[Any]:
        """Into these, else into new ones; gives them back."""
        if self._is_zero:
            if outputs is None:
                return [torch.zeros(shape, dtype=dtype, device=self._device) for shape, _, dtype in self._outputs]
            for output in outputs:
                output.zero_()
            return outputs
        torch_ = self._torch
        if torch_.has_one_device or torch_.current_device() == self._index:
            return self._launch(torch_, args, outputs)
        with torch.cuda.device(self._index):
            return self._launch(torch_, args, outputs)

    def _launch(self, torch_: _streams.Torch, args: Sequence[Any], outputs: Sequence[Any] | None) -> Sequence[Any]:
        if outputs is None:
            empty = torch_.empty
            outputs = [empty(shape, strides, dtype) for shape, strides, dtype in self._outputs]
        tensors = [args[i] for i in self._sources]
        for i, copy in self._copied:
            tensors[i] = copy(tensors[i])
        tensors += outputs
        if self._order is not None:
            tensors = [tensors[i] for i in self._order]
        scalars = [args[i] for i in self._scalars]
        self._served._submit(torch_.raw_stream(self._index), self._prepared, map(torch_.address, tensors), scalars)
        return outputs


def _dense(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of rows one after another."""
    return tuple(math.prod(max(extent, 1) for extent in shape[i + 1:]) for i in range(len(shape)))


def _widened(arg: Any) -> Any:
    """Zeros for a tensor without elements."""
    if not isinstance(arg, torch.Tensor) or 0 not in arg.shape:
        return arg
    return arg.new_zeros([max(extent, 1) for extent in arg.shape])


def _layout(form: Form, arg: dict[str, Any], tensor: Any) -> _tensors.Layout:
    try:
        return _tensors.from_torch(tensor).layout
    except UsageError as error:
        raise UsageError(f"{form.definition['name']}: '{arg['name']}': {error}") from None


def _has_pitch(tensor: Any) -> bool:
    pitch = _tensors.row_pitch(tuple(tensor.shape), tuple(tensor.stride()))
    return pitch is not None and pitch >= tensor.shape[-1]


def _is_apart(tensor: Any) -> bool:
    """Whether rows are dense and no two elements are one."""
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    if shape[-1] != 1 and strides[-1] != 1:
        return False
    reach = shape[-1]
    for stride, extent in sorted((stride, extent) for stride, extent in zip(strides[:-1], shape[:-1]) if extent != 1):
        if stride < reach:
            return False
        reach = stride * extent
    return True


def forms_of(definition: dict[str, Any]) -> dict[tuple[str, ...], Form]:
    """By the values of the attributes that decide which outputs there are."""
    attributes = definition.get("attributes", {})
    outs = [arg for arg in definition["args"] if arg["role"] == "out"]
    deciding = [name for name in attributes
                if any(name in _definitions.names_in(arg.get("when", "1")) for arg in outs)]
    forms = {}
    for values in itertools.product(*(attributes[name] for name in deciding)):
        overload = "_".join(name if value == "yes" else value for name, value in zip(deciding, values)
                            if value != attributes[name][0])
        forms[values] = Form(definition, dict(zip(deciding, values)), overload)
    return forms
