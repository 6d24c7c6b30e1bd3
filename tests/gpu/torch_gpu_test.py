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
import tempfile
import time
import unittest
import warnings

try:
    import torch
    WHY_NOT = None if torch.cuda.is_available() else "there is no GPU"
except ImportError:
    torch, WHY_NOT = None, "there is no torch"

if torch:
    from torch.nn import functional

    import tilewright
    import tilewright.torch as tw
    from tilewright import _definitions

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


WITH_GRADIENT = {"activation", "add_layernorm", "add_rmsnorm", "attention", "bias_act", "bias_act_dropout",
                 "cross_entropy", "dropout", "embedding", "gemm", "layernorm", "rmsnorm", "rope", "softmax", "swiglu"}
KEEPS_TOO_LITTLE = {"tilewright::add_rmsnorm", "tilewright::add_layernorm", "tilewright::attention"}


def has_gradient(form, choice):
    return (form.definition["name"] in WITH_GRADIENT and form.name not in KEEPS_TOO_LITTLE
            and choice.get("norm") != "yes")


# Problems of gradients and autocast, besides those of all forms.
BESIDES = [("activation", {"act": "gelu_erf"}), ("activation_bwd", {"act": "gelu_erf"}), ("bias_act", {"act": "silu"}),
           ("bias_act_dropout_bwd", {"act": "silu"}), ("bias_act_dropout", {"act": "gelu"}),
           ("bias_act_dropout_bwd", {"act": "gelu"}), ("attention", {"causal": "yes", "lse": "yes"}),
           ("attention_bwd", {"causal": "yes"}), ("gemm", {"layout": "nn"}), ("gemm", {"layout": "tn"}),
           ("gemm", {"layout": "nt", "bias": "yes"}), ("rmsnorm_bwd", {"dtype": "f32"}),
           ("layernorm_bwd", {"dtype": "f32"}), ("softmax", {"pitch": "strided"})]


def sweep_what_is_missing(program, cache, launcher):
    sweeps = []
    specs = [(form, spec_of(form, choice)) for form, choice, _ in wanted()]
    specs += [(next(iter(tw._forms[name].values())), {"dtype": "bf16", **spec}) for name, spec in BESIDES]
    for form, spec in specs:
        name, dims = form.definition["name"], dims_of(form)
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
                if has_gradient(form, choice):
                    torch.library.opcheck(form.torch_op, arguments(form, choice, present))
                checked += 1
        print(f"\nopcheck: {checked} forms with their sets of arguments", end=" ")
        self.assertEqual(skipped, [], "forms that the cache has not")

    def test_a_call_without_a_gradient_says_so(self):
        x = torch.randn(8, 64, device="cuda").bfloat16().requires_grad_()
        with self.assertRaisesRegex(tilewright.UsageError, "no op softmax_bwd_bwd"):
            tw.softmax_bwd(x, x).sum().backward()


def attention(q, k, v, scale):
    k, v = (each.repeat_interleave(q.shape[2] // each.shape[2], 2) for each in (k, v))
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * scale
    scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).tril().logical_not(), -float("inf"))
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v)


def rotated(x, cos, sin):
    half = cos.shape[-1]
    a, b = x[..., :half], x[..., half : 2 * half]
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([a * cos - b * sin, b * cos + a * sin, x[..., 2 * half :]], -1)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Gradients(unittest.TestCase):
    """Results and gradients against torch's plain formulas in float64; bf16 alone makes errors of 2e-3."""

    def check(self, name, ours, plain, *shapes, most=1.2e-2):
        inputs = [torch.randn(shape, device="cuda").bfloat16() for shape in shapes]
        mine = [each.clone().requires_grad_() for each in inputs]
        theirs = [each.double().requires_grad_() for each in inputs]
        found, expected = as_tuple(ours(*mine)), as_tuple(plain(*theirs))
        weights = [torch.randn_like(each) for each in expected]
        torch.autograd.backward(found, [weight.to(each.dtype) for weight, each in zip(weights, found)])
        torch.autograd.backward(expected, weights)
        errors = [error_of(one, other) for one, other in zip(found, expected)]
        of_gradients = [error_of(one.grad, other.grad) for one, other in zip(mine, theirs)]
        worst = max(errors + of_gradients)
        print(f"\n  {name}: results {max(errors):.1e}, gradients {max(of_gradients):.1e}", end="")
        self.assertLess(worst, most, name)

    def all(self):
        f, rows, cols = functional, 512, 1024
        x, w = (4, rows // 4, cols), (cols,)
        target = torch.randint(0, cols, (4, rows // 4), device="cuda")
        target[0, 0] = -100
        index = torch.randint(0, 64, (4, 32), device="cuda")
        cos, sin, position = torch.randn(64, 32, device="cuda"), torch.randn(64, 32, device="cuda"), torch.arange(
            48, device="cuda", dtype=torch.int32)
        yield "softmax", tw.softmax, lambda x: x.softmax(-1), x
        yield "rmsnorm", lambda x, w: tw.rmsnorm(x, w, 1e-6), lambda x, w: f.rms_norm(x, w.shape, w, 1e-6), x, w
        yield ("layernorm", lambda x, w, b: tw.layernorm(x, w, b, 1e-6),
               lambda x, w, b: f.layer_norm(x, w.shape, w, b, 1e-6), x, w, w)
        for store in (False, True):
            pick = (lambda total, y: (total, y)) if store else (lambda total, y: y)
            yield (f"add_rmsnorm, store={store}", lambda x, r, w, s=store: tw.add_rmsnorm(x, r, w, 1e-6, store=s),
                   lambda x, r, w, pick=pick: pick(x + r, f.rms_norm(x + r, w.shape, w, 1e-6)), x, x, w)
            yield (f"add_layernorm, store={store}",
                   lambda x, r, w, b, s=store: tw.add_layernorm(x, r, w, b, 1e-6, store=s),
                   lambda x, r, w, b, pick=pick: pick(x + r, f.layer_norm(x + r, w.shape, w, b, 1e-6)), x, x, w, w)
        yield "swiglu", tw.swiglu, lambda gate, up: f.silu(gate) * up, x, x
        yield ("swiglu, packed", lambda x: tw.swiglu(gate_up=x),
               lambda x: f.silu(x[..., : cols // 2]) * x[..., cols // 2 :], x)
        yield "activation", lambda x: tw.activation(x, act="gelu_erf"), f.gelu, x
        yield ("bias_act", lambda x, b: tw.bias_act(x, b, act="silu"), lambda x, b: f.silu(x + b), x, w)
        yield ("bias_act_dropout", lambda x, b: tw.bias_act_dropout(x, b, 0.5, 0.0, 1, 2, act="gelu"),
               lambda x, b: f.gelu((x + b) * 0.5, approximate="tanh"), x, w)
        yield ("cross_entropy", lambda x: tw.cross_entropy(x, target, 0.1, -100)[0],
               lambda x: f.cross_entropy(x.flatten(0, 1), target.flatten(), reduction="none",
                                         label_smoothing=0.1).view(target.shape), x)
        yield "embedding", lambda t: tw.embedding(t, index), lambda t: f.embedding(index, t), (64, 128)
        yield ("attention, causal", lambda q, k, v: tw.attention(q, k, v, 0.125, causal=True),
               lambda q, k, v: attention(q, k, v, 0.125), (2, 128, 4, 64), (2, 128, 2, 64), (2, 128, 2, 64))
        yield ("rope", lambda q, k: tw.rope(q, k, cos, sin, position),
               lambda q, k: (rotated(q, cos[:48].double(), sin[:48].double()),
                             rotated(k, cos[:48].double(), sin[:48].double())), (48, 4, 128), (48, 2, 128))
        yield ("gemm nt", tw.gemm, lambda a, b, bias: a @ b.T + bias, (4, 32, 256), (128, 256), (128,))
        yield "gemm nn", lambda a, b: tw.gemm(a, b, layout="nn"), lambda a, b: a @ b, (128, 256), (256, 64)
        yield "gemm tn", lambda a, b: tw.gemm(a, b, layout="tn"), lambda a, b: a.T @ b, (256, 128), (256, 64)

    def test_of_every_op_that_has_them(self):
        for name, ours, plain, *shapes in self.all():
            with self.subTest(name):
                self.check(name, ours, plain, *shapes)

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
