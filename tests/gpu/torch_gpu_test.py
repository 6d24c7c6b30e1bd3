#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tilewright.torch on a GPU: python3 python/torch_gpu_test.py in a bundle. The cache is $TILEWRIGHT_CACHE, else the
shipped winners, and what these lack is swept with a config each. Without torch or a GPU every test is skipped, and says
so. Times are printed, of the GPU where nothing else is said."""
import copy
import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import warnings
from unittest import mock

try:
    import torch
    WHY_NOT = None if torch.cuda.is_available() else "there is no GPU"
except ImportError:
    torch, WHY_NOT = None, "there is no torch"

if torch:
    from torch.nn import functional

    import tilewright
    import tilewright.torch as tw
    from tilewright import _definitions, _tensors, _torch_gradients, _torch_op

DEVICE = "cuda"
# Values that no shape gives, and scalars.
SCALARS = {"eps": 1e-5, "scale": 0.125, "p": 0.25, "seed": 7, "offset": 3, "smoothing": 0.1, "ignore": -100, "left": 8,
           "right": 8, "softcap": 5.0, "a": 0.5, "b": 0.25}
DIMS = {"rows": 16, "cols": 64, "n": 256, "m": 16, "k": 64, "steps": 4, "vocab": 64, "tokens": 16, "d": 64, "dv": 64,
        "b": 2, "batch": 2, "hq": 4, "hkv": 2, "sq": 16, "sk": 32, "tokens_q": 32, "tokens_k": 32, "rot": 32,
        "positions": 32, "page": 16, "pages": 8, "max_pages": 2, "hidden": 64, "d_out": 64}


def wanted():
    """Every form with the fewest arguments that it takes and with the most: the attributes, and arguments by name."""
    for forms in tw._forms.values():
        for form in forms.values():
            fewest, *_, most = sorted(form.choices, key=lambda choice: len(choice[1])) * 2
            yield from [(form, *fewest)] if len(fewest[1]) == len(most[1]) else [(form, *fewest), (form, *most)]


def dims_of(form):
    return {dim: DIMS[dim] for dim in form.definition["dims"]}


def spec_of(form, choice):
    dtype = "f32" if form.definition["dtypes"] == ["f32"] else "bf16"
    return {"dtype": dtype, **choice}


def arguments(form, choice, present, gradient=True):
    dtype = torch.float32 if spec_of(form, choice)["dtype"] == "f32" else torch.bfloat16
    names = {**dims_of(form), **choice, **{key: values[0] for key, values in
                                           form.definition.get("attributes", {}).items() if key not in choice}}
    shapes = {arg["name"]: arg["shape"] for arg in form.inputs}
    args = []
    for parameter in form.parameters:
        if parameter.kind == "dim":
            args.append(names[parameter.name])
        elif parameter.kind == "attribute":
            args.append(choice.get(parameter.name, parameter.default))
        elif parameter.name not in present:
            args.append(None)
        elif parameter.kind == "scalar":
            args.append(SCALARS[parameter.name])
        else:
            shape = [_definitions.evaluate(extent, {**names, "dtype": "f32" if dtype == torch.float32 else "bf16"})
                     for extent in shapes[parameter.name]]
            args.append(tensor(parameter, shape, dtype, gradient))
    return args


def tensor(parameter, shape, dtype, gradient):
    if parameter.type == "dtype":
        return (torch.randn(shape, device=DEVICE) * 0.5).to(dtype).requires_grad_(gradient)
    if parameter.type == "f32":
        return torch.randn(shape, device=DEVICE)
    kind = {"i32": torch.int32, "i64": torch.int64}[parameter.type]
    if parameter.name.startswith("cu_"):  # where sequences begin
        return (torch.arange(shape[0], device=DEVICE) * (DIMS["tokens_q"] // (shape[0] - 1))).to(kind)
    low, high = (DIMS["sq"], DIMS["sk"]) if parameter.name == "lengths" else (1, 8)
    return torch.randint(low, high, shape, device=DEVICE, dtype=kind)


def as_tuple(value):
    return value if isinstance(value, (tuple, list)) else (value,)


def outs_of(form, results):
    return {arg["name"]: torch.empty_like(result) for arg, result in zip(form.outputs, as_tuple(results))}


WITHOUT_GRADIENT = {"attention_decode", "attention_paged", "attention_varlen", "copy", "fma", "mma"}
KEEPS_TOO_LITTLE = {"tilewright::add_rmsnorm", "tilewright::add_layernorm", "tilewright::attention",
                    "tilewright::gemm_gated"}


def has_gradient(form):
    name = form.definition["name"]
    return not name.endswith("_bwd") and name not in WITHOUT_GRADIENT and form.name not in KEEPS_TOO_LITTLE


ACTS = {"none": lambda x: x, "relu": lambda x: x.relu(), "leaky_relu": lambda x: functional.leaky_relu(x, 0.01),
        "gelu": lambda x: functional.gelu(x, approximate="tanh"), "gelu_erf": lambda x: functional.gelu(x),
        "silu": lambda x: functional.silu(x), "tanh": lambda x: x.tanh()}


class Given:
    """Arguments and attributes by name, None where none is given."""

    def __init__(self, values):
        self.__dict__.update({name: {"yes": True, "no": False}.get(value, value) if isinstance(value, str) else value
                              for name, value in values.items()})

    def __getattr__(self, name):
        return None


def kept(rows, cols, p, seed, offset):
    """Where the op of rows keeps an element."""
    ones = torch.ones(rows, cols, device=DEVICE)
    return tw.bias_act_dropout(ones, torch.zeros_like(ones[0]), 1.0, p, seed, offset, act="none") != 0


def dropped(v, x):
    keeps = kept(x.numel() // x.shape[-1], x.shape[-1], v.p, v.seed, v.offset)
    return x * keeps.reshape(x.shape) / (1 - v.p)


def rms(x, weight, eps):
    return functional.rms_norm(x, weight.shape, weight, eps)


def norm(x, weight, bias, eps):
    return functional.layer_norm(x, weight.shape, weight, bias, eps)


def cross_entropy(v):
    x, target = v.logits.flatten(0, -2), v.target.flatten()
    loss = functional.cross_entropy(x, target, reduction="none", label_smoothing=v.smoothing, ignore_index=v.ignore)
    return loss.view(v.target.shape), x.logsumexp(-1).view(v.target.shape)


def attention(v):
    k, values = (each.repeat_interleave(v.q.shape[2] // each.shape[2], 2) for each in (v.k, v.v))
    scores = torch.einsum("bqhd,bkhd->bhqk", v.q, k) * v.scale
    if v.causal:
        seen = torch.ones_like(scores, dtype=torch.bool).tril(scores.shape[-1] - scores.shape[-2])
        scores = scores.masked_fill(seen.logical_not(), -float("inf"))
    o = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), values)
    return (o, scores.logsumexp(-1)) if v.lse is True else (o,)


def rotated(x, v):
    cos, sin = (each[v.position.long()][:, None].double() for each in (v.cos, v.sin))
    half = cos.shape[-1]
    turned, rest = x[..., : 2 * half], x[..., 2 * half :]
    if v.style == "interleaved":
        a, b = turned[..., ::2], turned[..., 1::2]
        return torch.cat([torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2), rest], -1)
    a, b = turned[..., :half], turned[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1)


def rope(v):
    q, k = (v.q, v.k) if v.wq is None else (rms(v.q, v.wq, v.eps), rms(v.k, v.wk, v.eps))
    return rotated(q, v), rotated(k, v)


def plus(x, *others):
    return sum((other for other in others if other is not None), x)


def gemm(v):
    a, b = v.a.T if v.layout == "tn" else v.a, v.b.T if v.layout in ("nt", None) else v.b
    return ACTS[v.act](plus(a @ b, v.bias))


def gated(v):
    wg, wu = v.wg, v.wu
    if v.w is not None:
        wg, wu = (v.w[::2], v.w[1::2]) if v.weights == "interleaved" else v.w.chunk(2)
    gate, up = plus(v.a @ wg.T, v.bg), plus(v.a @ wu.T, v.bu)
    y = ACTS[v.act](gate) * up
    return (y, gate, up) if v.store else (y,)


def mlp(v):
    up = plus(v.x @ v.w_up.T, v.b_up)
    hidden = ACTS[v.act](up) if v.w_gate is None else ACTS[v.act](plus(v.x @ v.w_gate.T, v.b_gate)) * up
    return (plus(hidden @ v.w_down.T, v.b_down),)


def of_sum(normed):
    def formula(v):
        total = v.x + v.residual
        return (total, normed(v, total)) if v.store else (normed(v, total),)
    return formula


def after_product(normed):
    def formula(v):
        s = plus(v.a @ v.b.T, v.bias, v.residual)
        return s, normed(v, s)
    return formula


# What the ops compute, in float64.
FORMULAS = {
    "activation": lambda v: (ACTS[v.act](v.x),),
    "add": lambda v: (ACTS[v.act](v.a + v.b),),
    "mul": lambda v: (ACTS[v.act](v.a * v.b),),
    "dropout": lambda v: (dropped(v, v.x.flatten()).view(v.x.shape),),
    "bias_act": lambda v: (ACTS[v.act](v.x + v.bias),),
    "bias_act_dropout": lambda v: (dropped(v, ACTS[v.act]((v.x + v.bias) * v.scale)),),
    "swiglu": lambda v: (functional.silu(v.gate) * v.up if v.gate_up is None else
                         functional.silu(v.gate_up.chunk(2, -1)[0]) * v.gate_up.chunk(2, -1)[1],),
    "softmax": lambda v: (v.x.softmax(-1),),
    "rmsnorm": lambda v: (rms(v.x, v.weight, v.eps),),
    "layernorm": lambda v: (norm(v.x, v.weight, v.bias, v.eps),),
    "add_rmsnorm": of_sum(lambda v, total: rms(total, v.weight, v.eps)),
    "add_layernorm": of_sum(lambda v, total: norm(total, v.weight, v.bias, v.eps)),
    "add_rmsnorm_silu": lambda v: (functional.silu(rms(v.x + v.residual, v.weight, v.eps)),),
    "cross_entropy": cross_entropy,
    "embedding": lambda v: (functional.embedding(v.index, v.table),),
    "attention": attention,
    "rope": rope,
    "gemm": lambda v: (plus(gemm(v), v.residual),),
    "gemm_dropout": lambda v: (plus(dropped(v, gemm(v)), v.residual),),
    "gemm_gated": gated,
    "gemm_add_rmsnorm": after_product(lambda v, s: rms(s, v.weight, v.eps)),
    "gemm_add_layernorm": after_product(lambda v, s: norm(s, v.weight, v.norm_bias, v.eps)),
    "mlp": mlp,
}


def problems():
    """Ops with their arguments, of odd and even widths. A shape stands for a drawn tensor that has a gradient."""
    drawn = {"p": 0.25, "seed": 7, "offset": 3}
    for x in ((37, 257), (4, 16, 1024)):
        w = x[-1:]
        for act in ACTS:
            yield "bias_act_dropout", {"x": x, "bias": w, "scale": 0.5, **drawn, "act": act}
            if act != "none":
                yield "activation", {"x": x, "act": act}
        for act in ("none", "gelu"):
            yield "bias_act", {"x": x, "bias": w, "act": act}
            yield "add", {"a": x, "b": x, "act": act}
            yield "mul", {"a": x, "b": x, "act": act}
        yield "dropout", {"x": x, **drawn}
        yield "swiglu", {"gate": x, "up": x}
        yield "swiglu", {"gate_up": (*x[:-1], 2 * x[-1])}
        yield "softmax", {"x": x}
        yield "rmsnorm", {"x": x, "weight": w, "eps": 1e-5}
        yield "layernorm", {"x": x, "weight": w, "bias": w, "eps": 1e-5}
        for store in (False, True):
            yield "add_rmsnorm", {"x": x, "residual": x, "weight": w, "eps": 1e-5, "store": store}
            yield "add_layernorm", {"x": x, "residual": x, "weight": w, "bias": w, "eps": 1e-5, "store": store}
        yield "add_rmsnorm_silu", {"x": x, "residual": x, "weight": w, "eps": 1e-5}
        target = torch.randint(0, x[-1], x[:-1], device=DEVICE)
        target[0] = -100
        yield "cross_entropy", {"logits": x, "target": target, "smoothing": 0.1, "ignore": -100}
        yield "embedding", {"table": (64, x[-1]), "index": torch.randint(0, 64, (4, 32), device=DEVICE)}
    for causal, tokens in ((True, 128), (False, 77)):
        yield "attention", {"q": (2, tokens, 4, 64), "k": (2, 128, 2, 64), "v": (2, 128, 2, 64), "scale": 0.125,
                            "causal": causal}
    angles = torch.rand(64, 32, device=DEVICE) * 6
    heads = {"q": (48, 4, 128), "k": (48, 2, 128), "cos": angles.cos(), "sin": angles.sin(),
             "position": torch.arange(48, device=DEVICE, dtype=torch.int32) + 8}
    yield "rope", {**heads, "style": "halved"}
    yield "rope", {**heads, "style": "interleaved"}
    yield "rope", {**heads, "wq": (128,), "wk": (128,), "eps": 1e-5, "style": "halved"}
    for m, n, k in (((37,), 65, 129), ((4, 16), 128, 256)):
        a, b, c, of_n = (*m, k), (n, k), (*m, n), (n,)
        yield "gemm", {"a": a, "b": b, "act": "none"}
        yield "gemm", {"a": a, "b": b, "bias": of_n, "residual": c, "act": "gelu"}
        yield "gemm", {"a": a, "b": (k, n), "layout": "nn", "act": "silu"}
        yield "gemm", {"a": (k, m[-1]), "b": (k, n), "layout": "tn", "act": "none"}
        yield "gemm_dropout", {"a": a, "b": b, **drawn, "act": "none"}
        yield "gemm_dropout", {"a": a, "b": b, "bias": of_n, "residual": c, **drawn, "act": "gelu"}
        yield "gemm_gated", {"a": a, "wg": b, "wu": b, "act": "silu"}
        yield "gemm_gated", {"a": a, "wg": b, "wu": b, "bg": of_n, "bu": of_n, "act": "gelu", "store": True}
        for weights in ("interleaved", "packed"):
            yield "gemm_gated", {"a": a, "w": (2 * n, k), "bg": of_n, "bu": of_n, "weights": weights, "act": "silu"}
        norm_of = {"a": a, "b": b, "residual": c, "weight": of_n, "eps": 1e-5}
        yield "gemm_add_rmsnorm", norm_of
        yield "gemm_add_layernorm", {**norm_of, "norm_bias": of_n, "bias": of_n}
        yield "mlp", {"x": a, "w_up": b, "w_down": (k, n), "act": "gelu"}
        yield "mlp", {"x": a, "w_gate": b, "w_up": b, "w_down": (k, n), "b_gate": of_n, "b_up": of_n, "b_down": (k,),
                      "act": "silu"}


def gradients_of(op, given, dtype):
    """Our results and gradients, each with that of the formula in float64; the gradients of all results and of the last
    alone. Weights of products are small."""
    mine = {name: torch.randn(shape, device=DEVICE) for name, shape in given.items() if isinstance(shape, tuple)}
    mine = {name: (x * (0.1 if name in ("b", "w") or name[:2] in ("wg", "wu", "w_") else 1)).to(dtype).requires_grad_()
            for name, x in mine.items()}
    theirs = {name: x.detach().double().requires_grad_() for name, x in mine.items()}
    found, expected = as_tuple(getattr(tw, op)(**{**given, **mine})), FORMULAS[op](Given({**given, **theirs}))
    assert len(found) == len(expected), op
    yield from zip(found, expected)
    pairs = [(one, other) for one, other in zip(found, expected) if one.requires_grad]
    for used in [pairs, pairs[-1:]][: len(pairs)]:
        by = [torch.randn_like(one) for one, _ in used]
        ours, exact = (torch.autograd.grad([pair[i] for pair in used], list(inputs.values()),
                                           [each.to(pair[i].dtype) for each, pair in zip(by, used)], retain_graph=True,
                                           allow_unused=True) for i, inputs in ((0, mine), (1, theirs)))
        for one, other, x in zip(ours, exact, theirs.values()):
            yield (torch.zeros_like(x) if each is None else each for each in (one, other))


def every_problem():
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        for op, given in problems():
            if _tensors.dtype_name(dtype) in next(iter(tw._forms[op].values())).definition["dtypes"]:
                yield op, given, dtype


def specs_of_gradients():
    """The ops that the gradients' test launches, by shapes alone: names, dtype and attributes, dims."""
    found, understand = {}, _torch_op.Form.understand

    def note(form, args):
        call, name = understand(form, args), form.definition["name"]
        spec = {"dtype": call.names["dtype"], **call.attributes}
        found[(name, *sorted(spec.items()))] = (name, spec, {dim: call.names[dim] for dim in form.definition["dims"]})
        return call

    with mock.patch.object(_torch_op.Form, "understand", note), mock.patch.object(
            sys.modules[__name__], "DEVICE", "meta"), mock.patch.object(
            _torch_gradients, "is_served", return_value=True):
        for problem in every_problem():
            for _ in gradients_of(*problem):
                pass
    return list(found.values())


# Of autocast and of slices, besides all forms and gradients.
BESIDES = [("softmax", {"dtype": "bf16", "pitch": "strided"})]


def sweep_what_is_missing(program, cache, launcher):
    sweeps = []
    specs = [(form.definition["name"], spec_of(form, choice), dims_of(form)) for form, choice, _ in wanted()]
    specs += [(name, spec, dims_of(next(iter(tw._forms[name].values())))) for name, spec in BESIDES]
    for name, spec, dims in specs + specs_of_gradients():
        try:
            found = launcher.op(name, **spec).match(**dims)
        except tilewright.UsageError:
            found = None
        if not found:
            attributes = ", ".join(f'{key} = "{value}"' for key, value in spec.items() if key != "dtype")
            shape = " ".join(f"{key}={value}" for key, value in dims.items())
            sweeps.append(f'[[sweep]]\nop = "{name}"\ndtype = "{spec["dtype"]}"\nattributes = {{ {attributes} }}\n'
                          f'shapes = ["{shape}"]\n')
    print(f"{len(sweeps)} ops with attributes are swept, since the cache has none of them", flush=True)
    if sweeps:
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as campaign:
            campaign.write('[campaign]\nname = "what torch_gpu_test asks for"\n' + "\n".join(sweeps))
            campaign.flush()
            done = subprocess.run([program, "sweep", "--campaign", campaign.name, "--max-configs", "1", "--budget-ms",
                                   "2", "--no-ceilings", "--quiet", "--cache", cache], check=False, capture_output=True,
                                  text=True)
            print(done.stderr[-2000:])


def setUpModule():
    if WHY_NOT:
        return
    torch.manual_seed(1)
    warnings.filterwarnings("ignore", message=".*TensorFloat32.*")
    os.environ["TILEWRIGHT_MISSES"] = "off"
    if not os.environ.get("TILEWRIGHT_CACHE"):
        bundle = pathlib.Path(tilewright.__file__).resolve().parents[2]
        program = os.environ.get("TILEWRIGHT_PROGRAM", bundle / "bin" / "tilewright")
        winners = os.environ.get("TILEWRIGHT_WINNERS",
                                 bundle / "share" / "tilewright" / "kernels" / "winners" / "nvidia-h200.db")
        # A name's op is made once and then found.
        folder = tempfile.TemporaryDirectory()
        unittest.addModuleCleanup(folder.cleanup)
        cache = os.environ.get("TILEWRIGHT_TEST_CACHE", str(pathlib.Path(folder.name) / "cache.db"))
        began = time.time()
        if not os.path.exists(cache):
            subprocess.run([program, "import", winners, "--cache", cache], check=True, capture_output=True)
        with tilewright.Launcher(cache) as launcher:
            sweep_what_is_missing(program, cache, launcher)
        print(f"the cache is ready after {time.time() - began:.0f} s", flush=True)
        os.environ["TILEWRIGHT_CACHE"] = cache


def median_us(call, rounds=21, each=20):
    """Of the GPU, of each call among 20 in a row."""
    for _ in range(3):
        call()
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(each):
            call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / each * 1e3)
    return sorted(times)[rounds // 2]


def error_of(found, expected):
    """Of the norms."""
    return ((found.double() - expected.double()).norm() / expected.double().norm().clamp_min(1e-30)).item()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Opcheck(unittest.TestCase):
    """torch.library.opcheck of every form, functional and into given tensors: schema, fake kernel, gradients, and that
    compiled code computes the same."""

    def test_every_form(self):
        checked, skipped = 0, []
        for form, choice, present in wanted():
            if not tilewright.op(form.definition["name"], **spec_of(form, choice)).match(**dims_of(form)):
                skipped.append(form.name)
                continue
            with self.subTest(form=form.name, choice=choice):
                args = arguments(form, choice, present, gradient=False)
                torch.library.opcheck(form.torch_op, args)
                torch.library.opcheck(form.torch_op_into, args, outs_of(form, form.torch_op(*args)))
                if has_gradient(form):
                    torch.library.opcheck(form.torch_op, arguments(form, choice, present))
                checked += 1
        print(f"\nopcheck: {checked} forms with their sets of arguments", end=" ")
        self.assertEqual(skipped, [], "forms that the cache has not")

    def test_a_call_without_a_gradient_says_so(self):
        x = torch.randn(8, 64, device="cuda").bfloat16().requires_grad_()
        with self.assertRaisesRegex(tilewright.UsageError, "no op softmax_bwd_bwd"):
            tw.softmax_bwd(x, x).sum().backward()


# Exact kernels whose results are rounded make errors of up to 4e-3 in bf16, one wrong column of 257 makes 6e-2.
MOST = {torch.bfloat16: 5e-3, torch.float16: 7e-4, torch.float32: 1e-5} if torch else {}
# Its weights and their gradients are rounded between the products.
MORE = {"attention": 2}


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Gradients(unittest.TestCase):
    """Results and gradients against the formulas in float64, by the norm of the difference."""

    def test_of_every_op_that_has_them(self):
        torch.manual_seed(3)
        worst = {}
        for op, given, dtype in every_problem():
            what = {name: value for name, value in given.items() if not isinstance(value, torch.Tensor)}
            with self.subTest(op=op, dtype=dtype, **what):
                error = max(error_of(*pair) for pair in gradients_of(op, given, dtype))
                worst[op, dtype] = max(worst.get((op, dtype), 0), error)
                self.assertLess(error, MOST[dtype] * MORE.get(op, 1))
        for (op, dtype), error in worst.items():
            print(f"\n  {op}, {_tensors.dtype_name(dtype)}: {error:.1e}", end="")

    def test_every_op_with_a_gradient_is_among_them(self):
        self.assertEqual({form.definition["name"] for form, _, _ in wanted() if has_gradient(form)}, set(FORMULAS))

    def test_a_quarter_is_dropped(self):
        share = kept(512, 1023, 0.25, 7, 3).double().mean().item()
        self.assertAlmostEqual(share, 0.75, delta=0.005)
        self.assertFalse(torch.equal(kept(512, 1023, 0.25, 7, 3), kept(512, 1023, 0.25, 8, 3)))

    def test_dropout_drops_the_same_on_its_way_back(self):
        x = torch.ones(4096, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        y = tw.dropout(x, 0.5, 3, 0)
        y.sum().backward()
        self.assertTrue(torch.equal(x.grad, y.detach()))
        self.assertIn(0.0, y.tolist())


if torch:
    class LlamaRMSNorm(torch.nn.Module):
        """As HF's, and so named."""

        def __init__(self, cols):
            super().__init__()
            self.weight, self.variance_epsilon = torch.nn.Parameter(torch.ones(cols)), 1e-6

        def forward(self, x):
            wide = x.float()
            wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
            return self.weight * wide.to(x.dtype)

    class LlamaMLP(torch.nn.Module):
        def __init__(self, cols, hidden):
            super().__init__()
            self.gate_proj, self.up_proj = (torch.nn.Linear(cols, hidden, bias=False) for _ in range(2))
            self.down_proj, self.act_fn = torch.nn.Linear(hidden, cols, bias=False), torch.nn.SiLU()

        def forward(self, x):
            return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))

    class Layer(torch.nn.Module):
        def __init__(self, cols, hidden, heads):
            super().__init__()
            self.heads = heads
            self.input_layernorm, self.post_attention_layernorm = LlamaRMSNorm(cols), LlamaRMSNorm(cols)
            self.qkv, self.o_proj = torch.nn.Linear(cols, 3 * cols, bias=False), torch.nn.Linear(cols, cols, bias=False)
            self.mlp = LlamaMLP(cols, hidden)

        def forward(self, x):
            q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                       for each in self.qkv(self.input_layernorm(x)).chunk(3, -1))
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
            x = x + self.o_proj(mixed)
            return x + self.mlp(self.post_attention_layernorm(x))

    class Model(torch.nn.Module):
        def __init__(self, cols=4096, hidden=11008, heads=32, layers=2):
            super().__init__()
            self.layers = torch.nn.ModuleList(Layer(cols, hidden, heads) for _ in range(layers))
            self.norm, self.head = torch.nn.LayerNorm(cols), torch.nn.Linear(cols, 1024)

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x))


@unittest.skipIf(WHY_NOT, WHY_NOT)
class SwappedModel(unittest.TestCase):
    """Two layers as Llama's of 7B, in bf16, their own and with what tilewright.torch.swap has swapped."""

    @classmethod
    def setUpClass(cls):
        torch.manual_seed(2)
        cls.plain = Model().cuda().bfloat16()
        cls.ours = copy.deepcopy(cls.plain)
        cls.report = tw.swap(cls.ours)
        cls.x = torch.randn(2, 1024, 4096, device="cuda").bfloat16()

    def test_all_of_its_layers_are_swapped(self):
        self.assertEqual([str(each) for each in self.report if each.op is None], [])
        counts = {}
        for each in self.report:
            counts[each.op] = counts.get(each.op, 0) + 1
        print(f"\nswapped: {counts}", end=" ")
        self.assertEqual(counts, {"rmsnorm": 4, "swiglu": 2, "gemm": 11, "layernorm": 1})

    def test_results_and_gradients_are_the_models(self):
        found, expected = self.ours(self.x), self.plain(self.x)
        errors = {"results": error_of(found, expected)}
        found.float().pow(2).mean().backward()
        expected.float().pow(2).mean().backward()
        exact = dict(self.plain.named_parameters())
        errors["gradients"] = max(error_of(each.grad, exact[name].grad) for name, each in self.ours.named_parameters())
        print(f"\nswapped model beside its own: {errors}", end=" ")
        self.assertLess(errors["results"], 2e-2)
        self.assertLess(errors["gradients"], 5e-2)
        self.ours.zero_grad(set_to_none=True)
        self.plain.zero_grad(set_to_none=True)

    def test_compiled_whole_it_computes_the_same_and_keeps_the_ops(self):
        kept = []

        def note(graph, inputs):
            kept.extend(str(node.target) for node in graph.graph.nodes if "tilewright" in str(node.target))
            return graph.forward

        torch._dynamo.reset()
        with torch.no_grad():
            torch.compile(self.ours, backend=note, fullgraph=True)(self.x)
            found = torch.compile(self.ours, fullgraph=True)(self.x)
            self.assertLess(error_of(found, self.ours(self.x)), 1e-2)
        self.assertEqual(len(kept), 18)
        trained = torch.compile(self.ours, fullgraph=True)
        trained(self.x).float().pow(2).mean().backward()
        self.assertTrue(all(each.grad is not None for each in self.ours.parameters()))
        self.ours.zero_grad(set_to_none=True)

    def test_dynamic_shapes_compile_once(self):
        torch._dynamo.reset()
        counter = torch._dynamo.testing.CompileCounterWithBackend("inductor")
        call = torch.compile(lambda x, w: tw.rmsnorm(tw.softmax(x), w, 1e-6) + 1, backend=counter, fullgraph=True,
                             dynamic=True)
        w = torch.ones(256, device="cuda", dtype=torch.bfloat16)
        for rows in (3, 5, 17):
            x = torch.randn(rows, 256, device="cuda").bfloat16()
            self.assertLess(error_of(call(x, w), functional.rms_norm(x.double().softmax(-1), (256,), None, 1e-6) + 1),
                            1e-2)
        self.assertEqual(counter.frame_count, 1)

    def test_captured_into_a_graph_it_computes_the_same(self):
        x = self.x.clone()
        with torch.no_grad():
            expected = self.ours(self.x)
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                self.ours(x)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                y = self.ours(x)
            x.zero_()
            graph.replay()
            x.copy_(self.x)
            graph.replay()
            self.assertLess(error_of(y, expected), 1e-6)
            compiled = torch.compile(self.ours, fullgraph=True, mode="reduce-overhead")
            for _ in range(3):
                y = compiled(self.x).clone()
            self.assertLess(error_of(y, expected), 1e-2)

    def test_the_first_launch_of_a_shape_may_be_captured(self):
        x = torch.randn(37, 1000, device="cuda").bfloat16()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = tw.softmax(x)
        graph.replay()
        self.assertLess(error_of(y, x.double().softmax(-1)), 5e-3)

    def test_autocast_runs_weights_of_fp32_in_bf16(self):
        model = Model(512, 1408, 8, 1).cuda()
        ours = copy.deepcopy(model)
        tw.swap(ours, ("rmsnorm", "layernorm", "swiglu", "gemm"))
        x = torch.randn(2, 64, 512, device="cuda")
        with torch.autocast("cuda", torch.bfloat16):
            found, expected = ours(x), model(x)
        self.assertEqual((found.dtype, expected.dtype), (torch.bfloat16, torch.bfloat16))
        self.assertLess(error_of(found, expected), 2e-2)
        found.float().sum().backward()
        self.assertEqual(ours.layers[0].qkv.weight.grad.dtype, torch.float32)

    def test_times(self):
        torch._dynamo.reset()
        rows = []
        for batch, tokens in ((1, 1), (1, 128), (2, 1024)):
            x = self.x[:batch, :tokens].contiguous()
            with torch.no_grad():
                models = {"eager": self.plain, "swapped": self.ours,
                          "compiled": torch.compile(self.plain, fullgraph=True, dynamic=False),
                          "swapped, compiled": torch.compile(self.ours, fullgraph=True, dynamic=False)}
                rows.append((f"{batch}x{tokens}", {name: median_us(functools.partial(model, x))
                                                   for name, model in models.items()}))
        for shape, times in rows:
            print(f"\n  2 layers, {shape} tokens, µs: " + ", ".join(f"{name} {us:.0f}" for name, us in times.items()),
                  end="")


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Layouts(unittest.TestCase):
    def test_slices_and_transposed_tensors_are_read_where_they_lie_or_copied(self):
        packed = torch.randn(64, 3, 512, device="cuda").bfloat16()
        for x in (packed[:, 1], packed[:, 0].t(), packed[0, 0].expand(8, 512), packed[:0, 1]):
            self.assertLess(error_of(tw.softmax(x), x.double().softmax(-1)), 5e-3)

    def test_out_is_written(self):
        x, w = torch.randn(8, 512, device="cuda").bfloat16(), torch.ones(512, device="cuda").bfloat16()
        total, y = torch.empty_like(x), torch.empty_like(x)
        self.assertIs(tw.add_rmsnorm(x, x, w, 1e-6, store=True, out=(total, y))[0], total)
        self.assertTrue(torch.equal(total, x + x))
        self.assertTrue(torch.equal(y, tw.add_rmsnorm(x, x, w, 1e-6)))

    def test_each_gpu_serves_its_own(self):
        if torch.cuda.device_count() < 2:
            self.skipTest("there is one GPU")
        x = torch.randn(8, 512, device="cuda:1").bfloat16()
        self.assertLess(error_of(tw.softmax(x), x.double().softmax(-1)), 5e-3)
        self.assertEqual(torch.cuda.current_device(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
