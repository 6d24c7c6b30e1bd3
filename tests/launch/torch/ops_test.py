# SPDX-License-Identifier: Apache-2.0
"""tilewright.torch without a GPU: what torch is told of the ops, on tensors without elements, and what is launched, by
the recording driver with tensors of the CPU that are taken for a GPU's."""
import concurrent.futures
import copy
import io
import pathlib
import sys
import unittest
from unittest import mock

try:
    import torch
except ImportError:
    sys.exit("there is no torch: scripts/setup --torch brings it")

import torch_gpu_test

import tilewright
import tilewright.torch as tw
from recording import DRIVER
from tilewright import _definitions, _streams, _tensors, _torch_gradients, _torch_op, _torch_swap
from tilewright._op import Op

BF16, F32, I64, I32 = torch.bfloat16, torch.float32, torch.int64, torch.int32
OPS = torch.ops.tilewright


def meta(*shape, dtype=BF16, gradient=False):
    return torch.empty(shape, dtype=dtype, device="meta", requires_grad=gradient)


class Schemas(unittest.TestCase):
    def test_every_definition_is_an_op(self):
        kernels = pathlib.Path(tilewright.__file__).parents[4] / "kernels"
        files = [file for file in kernels.glob("*/*.toml") if file.stem == file.parent.name]
        self.assertEqual(tw.ops(), sorted(file.stem for file in files))
        for name in tw.ops():
            self.assertTrue(callable(getattr(tw, name)) and getattr(OPS, name))

    def test_a_definition_is_all_that_an_op_needs(self):
        definition = {
            "name": "made_up", "summary": "", "dims": ["rows", "cols", "steps"], "dtypes": ["bf16"],
            "attributes": {"act": ["none", "relu"], "twice": ["no", "yes"], "keep": ["no", "yes"]},
            "args": [{"name": "x", "role": "in", "shape": ["rows", "2 * cols"]},
                     {"name": "y", "role": "in", "shape": ["cols / 4"], "when": "twice == 'yes'"},
                     {"name": "z", "role": "out", "shape": ["rows", "cols"]},
                     {"name": "kept", "role": "out", "type": "f32", "shape": ["rows + 1"], "when": "keep == 'yes'"},
                     {"name": "eps", "role": "scalar", "type": "f32"}]}
        plain, keeping = _torch_op.forms_of(definition).values()
        self.assertEqual(str(keeping.torch_op._schema), "tilewright::made_up.keep(Tensor x, float eps, SymInt steps, "
                         'Tensor? y=None, str act="none") -> (Tensor, Tensor)')
        self.assertEqual(str(plain.torch_op_into._schema), "tilewright::made_up.out(Tensor x, float eps, SymInt steps, "
                         'Tensor? y=None, str act="none", *, Tensor(a!) z) -> ()')
        z, kept = keeping.torch_op(meta(2, 3, 64), 1e-6, 4, meta(8))
        self.assertEqual((z.shape, kept.shape, kept.dtype), ((2, 3, 32), (7,), F32))

    def test_what_the_wheel_has_is_what_the_definitions_say(self):
        kernels = pathlib.Path(tilewright.__file__).parents[4] / "kernels"
        self.assertEqual([one["name"] for one in _definitions.read(kernels)], tw.ops())


class Shapes(unittest.TestCase):
    def shape(self, result):
        return [tuple(each.shape) for each in result] if isinstance(result, tuple) else tuple(result.shape)

    def test_of_outputs_follow_from_the_inputs(self):
        x, w, index = meta(2, 3, 64), meta(64), meta(2, 3, dtype=I64)
        self.assertEqual(self.shape(tw.rmsnorm(x, w, 1e-6)), (2, 3, 64))
        self.assertEqual(self.shape(tw.add_rmsnorm(x, x, w, 1e-6, store=True)), [(2, 3, 64)] * 2)
        self.assertEqual(self.shape(tw.swiglu(gate_up=x)), (2, 3, 32))
        self.assertEqual(self.shape(tw.swiglu_bwd(gate_up=x, dy=meta(6, 32), layout="packed")), (2, 3, 64))
        self.assertEqual(self.shape(tw.gemm(x, meta(5, 64), meta(5))), (2, 3, 5))
        self.assertEqual(self.shape(tw.gemm(meta(64, 7), meta(64, 5), layout="tn")), (7, 5))
        self.assertEqual(self.shape(tw.embedding(meta(99, 64), index)), (2, 3, 64))
        self.assertEqual(self.shape(tw.embedding_bwd(x, index, 99)), (99, 64))
        self.assertEqual(self.shape(tw.cross_entropy(x, index, 0.0, -100)), [(2, 3)] * 2)
        q, kv = meta(2, 7, 8, 64), meta(2, 9, 2, 64)
        self.assertEqual(self.shape(tw.attention(q, kv, kv, 0.1, causal=True, lse=True)), [(2, 7, 8, 64), (2, 8, 7)])
        self.assertEqual(self.shape(tw.attention_bwd(q, kv, kv, q, q, meta(2, 8, 7, dtype=F32), 0.1)),
                         [(2, 7, 8, 64), (2, 9, 2, 64), (2, 9, 2, 64)])

    def test_out_is_given_back(self):
        x, y = meta(2, 64), meta(2, 64)
        self.assertIs(tw.softmax(x, out=y), y)

    def test_unknown_extents_stay_symbols(self):
        seen = []

        def backend(graph, inputs):
            seen.extend(node.meta["example_value"].shape for node in graph.graph.nodes
                        if "tilewright" in str(node.target))
            return graph.forward

        torch._dynamo.reset()
        call = torch.compile(lambda x: tw.swiglu(gate_up=x), backend=backend, fullgraph=True, dynamic=True)
        for rows in (3, 5, 9):
            self.assertEqual(call(meta(rows, 4 * rows)).shape, (rows, 2 * rows))
        self.assertEqual(len(seen), 1)
        self.assertIsInstance(seen[0][0], torch.SymInt)


class Errors(unittest.TestCase):
    def refused(self, text, call, *args, **named):
        with self.assertRaises(tilewright.UsageError) as caught:
            call(*args, **named)
        self.assertIn(text, str(caught.exception))

    def test_say_what_is_wrong_and_what_is_right(self):
        x, w = meta(2, 3, 64), meta(64)
        self.refused("'weight', of shape (5,): extent 0 is 5; it must be cols = 64", tw.rmsnorm, x, w[:5], 1e-6)
        self.refused("'weight' has elements of torch.float32; with the other arguments it takes torch.bfloat16",
                     tw.rmsnorm, x, w.float(), 1e-6)
        self.refused("swiglu takes gate, up; or gate_up; the call passes gate", tw.swiglu, x)
        self.refused("it must be a multiple of 2", tw.swiglu, gate_up=x[..., :63])
        self.refused("no act=relu6; act is one of none, relu", tw.gemm, x, x[0], act="relu6")
        self.refused("softmax has no kernels of f64; it is of f32, f16, bf16", tw.softmax, x.double())
        self.refused("softmax: 'x': it is on cpu, not on a GPU", tw.softmax, torch.ones(2, 2))
        self.refused("add_rmsnorm has no store=all", tw.add_rmsnorm, x, x, w, 1e-6, store="all")
        self.refused("'y' has the shape (1, 3, 64)", tw.rmsnorm, x, w, 1e-6, out=meta(1, 3, 64))

    def test_of_gradients_that_are_none_come_when_they_are_asked_for(self):
        x, w = meta(2, 64, gradient=True), meta(64)
        self.refused("tilewright::softmax_bwd has no gradient: there is no op softmax_bwd_bwd",
                     tw.softmax_bwd(x, x).sum().backward)
        self.refused("does not keep sum", OPS.add_rmsnorm(x, x, w, 1e-6).sum().backward)
        self.refused("does not keep", OPS.gemm_gated(x, meta(8, 64), meta(8, 64)).sum().backward)
        q, angles = meta(4, 2, 64), meta(9, 32, dtype=F32, gradient=True)
        turned, _ = tw.rope(q, q, angles, angles.detach(), meta(4, dtype=I32))
        self.refused("has no gradient by cos", turned.sum().backward)


class Gradients(unittest.TestCase):
    def test_have_the_shape_and_dtype_of_what_they_are_of(self):
        index, angles, position = meta(2, 3, dtype=I64), meta(9, 32, dtype=F32), meta(4, dtype=I32)
        x, w, q = (2, 3, 64), (64,), (4, 2, 64)
        for call, *shapes in (
                (tw.softmax, x), (lambda x, w: tw.rmsnorm(x, w, 1e-6), x, w),
                (lambda x, w, b: tw.layernorm(x, w, b, 1e-6), x, w, w),
                (lambda x, r, w: tw.add_rmsnorm(x, r, w, 1e-6), x, x, w),
                (lambda x, r, w: tw.add_rmsnorm(x, r, w, 1e-6, store=True)[0], x, x, w),
                (lambda x, r, w, b: tw.add_layernorm(x, r, w, b, 1e-6, store=True)[1], x, x, w, w),
                (tw.swiglu, x, x), (lambda x: tw.swiglu(gate_up=x), x), (lambda x: tw.activation(x, act="silu"), x),
                (tw.bias_act, x, w), (lambda x, b: tw.bias_act_dropout(x, b, 1.0, 0.5, 1, 2, act="gelu"), x, w),
                (lambda x: tw.cross_entropy(x, index, 0.0, -100)[0], x), (lambda x: tw.dropout(x, 0.5, 1, 2), x),
                (lambda table: tw.embedding(table, index), (9, 64)),
                (lambda q, k, v: tw.attention(q, k, v, 0.1, causal=True), (2, *q), (2, *q), (2, *q)),
                (lambda q, k: tw.rope(q, k, angles, angles, position)[1], q, q),
                (tw.gemm, x, (5, 64), (5,)), (lambda a, b: tw.gemm(a, b, layout="nn"), (6, 64), (64, 5)),
                (lambda a, b: tw.gemm(a, b, layout="tn"), (64, 6), (64, 5))):
            inputs = [meta(*shape, gradient=True) for shape in shapes]
            call(*inputs).sum().backward()
            for each in inputs:
                self.assertEqual((each.grad.shape, each.grad.dtype), (each.shape, BF16))

    def test_have_the_batches_of_what_they_are_of(self):
        x, rows, w, up = (2, 3, 64), (6, 64), (64,), (64, 64)
        angles, position = meta(9, 32, dtype=F32), meta(6, dtype=I32)
        for call, *shapes in (
                (tw.add, x, rows), (tw.mul, rows, x), (tw.swiglu, x, rows),
                (lambda x, r, w: tw.add_rmsnorm(x, r, w, 1e-6), x, rows, w),
                (lambda x, r, w: tw.add_rmsnorm_silu(x, r, w, 1e-6), rows, x, w),
                (lambda a, b, r: tw.gemm(a, b, residual=r), x, up, rows),
                (lambda a, b, r, w: tw.gemm_add_rmsnorm(a, b, r, w, 1e-6)[1], rows, up, x, w),
                (lambda a, b, r: tw.gemm_dropout(a, b, 0.5, 1, 2, residual=r), x, up, rows),
                (lambda q, k: tw.rope(q, k, angles, angles, position)[1], (2, 3, 2, 64), (6, 2, 64))):
            inputs = [meta(*shape, gradient=True) for shape in shapes]
            call(*inputs).sum().backward()
            for each in inputs:
                self.assertEqual(each.grad.shape, each.shape)

    def test_let_outputs_that_they_do_not_need_be_written_to(self):
        x, w, up = meta(2, 64, gradient=True), meta(64, gradient=True), meta(64, 64, gradient=True)
        for call in (lambda: tw.rmsnorm(x, w, 1e-6), lambda: tw.gemm(x, up), lambda: tw.swiglu(x, x),
                     lambda: tw.add(x, x), lambda: tw.add_rmsnorm(x, x, w, 1e-6), lambda: tw.gemm_gated(x, up, up),
                     lambda: tw.gemm_add_rmsnorm(x, up, x, w, 1e-6)[1], lambda: tw.mlp(x, up, up)):
            call().mul_(2).sum().backward()
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            tw.softmax(x).mul_(2).sum().backward()

    def test_none_is_of_the_logarithm_of_a_sum(self):
        loss, lse = tw.cross_entropy(meta(2, 64, gradient=True), meta(2, dtype=I64), 0.0, -100)
        self.assertEqual((loss.requires_grad, lse.requires_grad), (True, False))


POOL = concurrent.futures.ThreadPoolExecutor(1)  # torch's gradients are off in the thread that computes an op


def drawn(rows, cols, p, seed, offset):
    return torch.rand(rows, cols, generator=torch.Generator().manual_seed(seed * 1000 + offset)) >= p


class Computed:
    """In place of a plan: what the op computes by the formulas in float64, of OP_bwd by autograd, rounded once."""

    def __init__(self, form):
        self.form = form

    def launch(self, args):
        return POOL.submit(self.results, args).result()

    def results(self, args):
        form, name = self.form, self.form.definition["name"]
        call = form.understand(args)
        given = {parameter.name: arg.double() if isinstance(arg, torch.Tensor) and arg.is_floating_point() else arg
                 for parameter, arg in zip(form.parameters, args) if arg is not None}
        v = torch_gpu_test.Given({**call.attributes, **given})
        outputs = [arg["name"] for arg in form.outputs]
        if name.endswith("_bwd"):
            made = self.gradients(name.removesuffix("_bwd"), v, outputs)
        else:
            made = torch_gpu_test.FORMULAS[name](v)
            if len(made) < len(outputs):
                made += self.gradients(name, v, outputs[len(made):])
        return [each.detach().to(dtype) for each, (_, dtype) in zip(made, call.outputs)]

    def gradients(self, name, v, outputs):
        names = [{"dw": "weight", "db": "bias"}.get(output, output[1:]) for output in outputs]
        values = {"softmax": lambda: {"x": v.y.log()}, "layernorm": lambda: {"bias": torch.zeros_like(v.weight)},
                  "embedding": lambda: {"table": v.dy.new_zeros(v.vocab, v.dy.shape[-1])}}.get(name, dict)()
        inputs = {each: values.get(each, getattr(v, each)).detach().requires_grad_() for each in names}
        y = torch_gpu_test.FORMULAS[name](torch_gpu_test.Given({**vars(v), **inputs}))[0]
        by = next(each for each in (v.dy, v.do, v.dloss) if each is not None)
        made = torch.autograd.grad(y, list(inputs.values()), by.reshape(y.shape))
        return made if v.dsum is None else (made[0] + v.dsum, *made[1:])


class GradientsComputed(unittest.TestCase):
    """The gradients' test of the GPU, with formulas in place of kernels: what is checked is how gradients are made of
    the ops."""

    served = True

    def setUp(self):
        for where, name, what in ((torch_gpu_test, "DEVICE", "cpu"), (torch_gpu_test, "kept", drawn),
                                  (_torch_gradients, "is_served", lambda *_: self.served),
                                  (_torch_op.Form, "_plan", lambda form, args, outs=(): Computed(form))):
            patch = mock.patch.object(where, name, what)
            patch.start()
            self.addCleanup(patch.stop)

    test_of_every_op_that_has_them = torch_gpu_test.Gradients.test_of_every_op_that_has_them
    test_every_op_with_a_gradient_is_among_them = torch_gpu_test.Gradients.test_every_op_with_a_gradient_is_among_them


    def test_of_two_leaves_share_no_memory(self):
        for shape in ((3, 5), (1, 3, 5)):
            a, b = (torch.randn(each, requires_grad=True) for each in ((3, 5), shape))
            torch.square(tw.add(a, b)).sum().backward()
            kept = b.grad.clone()
            a.grad.mul_(0.5)
            self.assertTrue(torch.equal(b.grad, kept))


class GradientsComputedByTorchsProducts(GradientsComputed):
    served = False


class Autocast(unittest.TestCase):
    def test_products_are_in_its_dtype_and_the_rest_in_the_first_tensors(self):
        with mock.patch("torch.get_autocast_dtype", return_value=BF16):
            self.assertEqual(tw._forms["gemm"][()].run_cast(meta(2, 64, dtype=F32), meta(8, 64, dtype=F32)).dtype, BF16)
            norm = tw._forms["rmsnorm"][()].run_cast
            self.assertEqual(norm(meta(2, 64), meta(64, dtype=F32), 1e-6).dtype, BF16)
            self.assertEqual(norm(meta(2, 64, dtype=F32), meta(64), 1e-6).dtype, F32)

    def test_a_swapped_product_has_the_math_of_its_dtype(self):
        linear, x, products = torch.nn.Linear(64, 8, device="meta"), meta(2, 64, dtype=F32), torch.backends.cuda.matmul
        self.addCleanup(setattr, products, "allow_tf32", products.allow_tf32)
        products.allow_tf32 = True
        with mock.patch.object(_torch_swap, "_gemm") as gemm, mock.patch.object(
                _torch_swap, "_is_served", return_value=True), mock.patch("torch.is_autocast_enabled") as casts:
            for casts.return_value in (False, True):
                _torch_swap.Linear.forward(linear, x)
        self.assertEqual([call.args[5] for call in gemm.call_args_list], ["tf32", "ieee"])

    def test_weights_that_are_cast_get_gradients_of_their_own_dtype(self):
        weight = meta(64, dtype=F32, gradient=True)
        tw._forms["rmsnorm"][()].run_cast(meta(2, 64), weight, 1e-6).sum().backward()
        self.assertEqual(weight.grad.dtype, F32)


class Compiled(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()

    def test_a_whole_graph_keeps_the_ops(self):
        kept = []

        def backend(graph, inputs):
            kept.extend(str(node.target) for node in graph.graph.nodes if "tilewright" in str(node.target))
            return graph.forward

        def layer(x, w, up):
            total, y = tw.add_rmsnorm(x, x, w, 1e-6, store=True)
            return tw.gemm(tw.swiglu(gate_up=tw.gemm(y, up)), up[:64], layout="nn") + total

        torch.compile(layer, backend=backend, fullgraph=True)(meta(4, 64), meta(64), meta(128, 64))
        self.assertEqual(kept, ["tilewright.add_rmsnorm.store", "tilewright.gemm.default", "tilewright.swiglu.default",
                                "tilewright.gemm.default"])

    def test_its_gradient_is_compiled_too(self):
        def layer(x, w):
            return tw.softmax(tw.add_rmsnorm(x, x, w, 1e-6)).sum()

        x, w = meta(4, 64, gradient=True), meta(64, gradient=True)
        torch.compile(layer, backend="aot_eager", fullgraph=True)(x, w).backward()
        self.assertEqual((x.grad.shape, w.grad.shape), (x.shape, w.shape))

    def test_every_form_is_compiled_with_extents_that_are_symbols(self):
        part = "test_aot_dispatch_dynamic"
        with mock.patch.object(torch_gpu_test, "DEVICE", "meta"):
            for form, choice, present in torch_gpu_test.wanted():
                with self.subTest(form=form.name, choice=choice):
                    if torch_gpu_test.has_gradient(form):
                        args = torch_gpu_test.arguments(form, choice, present)
                        torch.library.opcheck(form.torch_op, args, test_utils=part)
                    args = torch_gpu_test.arguments(form, choice, present, gradient=False)
                    outs = torch_gpu_test.outs_of(form, form.torch_op(*args))
                    torch.library.opcheck(form.torch_op, args, test_utils=part)
                    torch.library.opcheck(form.torch_op_into, args, outs, test_utils=part)

    def test_it_keeps_the_ops_of_swapped_layers(self):
        kept = []

        def backend(graph, inputs):
            kept.extend(str(node.target) for node in graph.graph.nodes if "tilewright" in str(node.target))
            return graph.forward

        nn = torch.nn
        model = nn.Sequential(nn.RMSNorm(64), nn.LayerNorm(64), nn.Softmax(-1), LlamaMLP(nn.functional.silu)).bfloat16()
        tw.swap(model)
        with mock.patch.object(_torch_swap, "_is_served", lambda op, x, weight: True):
            torch.compile(model.to("meta"), backend=backend, fullgraph=True)(meta(4, 64))
        self.assertEqual(kept, [f"tilewright.{op}.default" for op in ("rmsnorm", "layernorm", "softmax", "gemm", "gemm",
                                                                      "swiglu", "gemm")])

    def test_out_is_written_in_it(self):
        def layer(x, y):
            tw.softmax(x, out=y)
            return y + 1

        compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
        self.assertEqual(compiled(meta(4, 64), meta(4, 64)).shape, (4, 64))


def of_gpu(tensor):
    layout = _tensors._layout(_tensors.dtype_name(tensor.dtype), tuple(tensor.shape), tuple(tensor.stride()), 0, False)
    return _tensors.Tensor(tensor.data_ptr(), layout, None, tensor)


class Launches(unittest.TestCase):
    def setUp(self):
        DRIVER.use(0)
        known, self.stream = _streams.Torch(torch), DRIVER.new_stream()
        known.raw_stream, known.current_device, known.has_one_device = lambda device: self.stream, lambda: 0, True
        known.empty = lambda shape, strides, dtype: torch.empty_strided(shape, strides, dtype=dtype)
        for patch in (mock.patch.object(_tensors, "from_torch", of_gpu), mock.patch.object(_streams, "_found", known)):
            patch.start()
            self.addCleanup(patch.stop)

    def launched(self, call, *args, **named):
        """What was handed to the launch library, which launches it, and the result."""
        DRIVER.functions.recording_reset()
        handed, submit = [], Op._submit

        def listen(op, stream, prepared, addresses, scalars):
            handed.append((op.spec, stream, tuple(prepared.dims), list(addresses), list(scalars)))
            submit(op, stream, prepared, handed[-1][3], scalars)

        with mock.patch.object(Op, "_submit", listen):
            result = call(*args, **named)
        self.assertEqual(len(DRIVER.launches()), len(handed))
        return handed, result

    def test_the_library_gets_dims_addresses_scalars_and_the_stream(self):
        x, w = torch.ones(2, 3, 1024, dtype=BF16), torch.ones(1024, dtype=BF16)
        handed, y = self.launched(tw.rmsnorm, x, w, 1e-6)
        self.assertEqual(handed, [("rmsnorm[dtype=bf16,pitch=dense]", self.stream, (6, 1024),
                                   [x.data_ptr(), w.data_ptr(), y.data_ptr()], [1e-6])])
        self.assertEqual((y.shape, y.dtype), (x.shape, BF16))

    def test_attributes_are_told_from_the_arguments_and_dims_that_no_shape_has_are_given(self):
        a, b = torch.ones(4, 64, dtype=BF16), torch.ones(32, 64, dtype=BF16)
        handed, c = self.launched(tw.gemm, a, b, bias=b[:, 0].contiguous(), act="gelu")
        self.assertEqual(handed[0][0], "gemm[dtype=bf16,layout=nt,math=ieee,bias=yes,act=gelu,residual=no]")
        self.assertEqual((handed[0][2], c.shape), ((4, 32, 64), (4, 32)))
        handed, _ = self.launched(tw.embedding_bwd, a, torch.zeros(4, dtype=I64), 9)
        self.assertEqual(handed[0][2], (4, 9, 64))

    def test_again_it_is_launched_by_what_was_found(self):
        x = torch.ones(4, 1024, dtype=BF16)
        form = tw._forms["softmax"][()]
        tw.softmax(x)
        with mock.patch.object(form, "understand", side_effect=AssertionError):
            (handed,), y = self.launched(tw.softmax, torch.ones(4, 1024, dtype=BF16))
        self.assertEqual(handed[3][1], y.data_ptr())

    def test_after_the_default_launcher_is_closed_another_is_opened(self):
        x = torch.ones(4, 1024, dtype=BF16)
        (before,), _ = self.launched(tw.softmax, x)
        tilewright.default_launcher().close()
        (after,), _ = self.launched(tw.softmax, x)
        self.assertEqual(after[:3], before[:3])

    def test_whether_a_product_is_served_is_asked_anew_of_another_cache(self):
        self.addCleanup(tilewright.refresh)  # forgets what is made up here
        for change in (tilewright.refresh, lambda: tilewright.default_launcher().close()):
            for served in (True, False):
                change()
                with mock.patch.object(Op, "match", return_value=served) as match:
                    self.assertEqual([_torch_gradients.is_served(BF16, "nn", "ieee") for _ in range(2)], [served] * 2)
                self.assertEqual(match.call_count, 1)

    def test_what_an_op_cannot_read_where_it_lies_is_copied(self):
        x = torch.ones(1024, 4, dtype=BF16).t()
        (handed,), y = self.launched(tw.softmax, x)
        self.assertNotIn(x.data_ptr(), handed[3])
        self.assertEqual((handed[2], y.shape, y.is_contiguous()), ((4, 1024), (4, 1024), True))

    def test_slices_are_copied_where_no_kernel_reads_them_and_out_is_dense(self):
        x, wide = torch.ones(4, 2048, dtype=BF16)[:, :1024], torch.ones(4, 4096, dtype=BF16)
        for out, pitch in ((None, "dense"), (wide[:2].view(8, 1024)[:4], "dense"), (wide[:, 1024:2048], "strided")):
            with self.subTest(pitch=pitch), mock.patch.object(Op, "match", return_value=False):
                form = tw._forms["softmax"][()]
                form._plans.clear()
                self.addCleanup(form._plans.clear)
                (handed,), y = self.launched(tw.softmax, x, out=out)
                self.assertEqual((handed[0], handed[3][1]), (f"softmax[dtype=bf16,pitch={pitch}]", y.data_ptr()))

    def test_an_op_that_this_module_has_used_is_called_by_itself_too(self):
        x, y = torch.ones(4, 1024, dtype=BF16), torch.empty(4, 1024, dtype=BF16)
        self.launched(tw.softmax, x)
        op = tilewright.op("softmax", dtype="bf16", pitch="dense")
        for _ in range(2):
            (handed,), _ = self.launched(op, x, y)
            self.assertEqual(handed[3], [x.data_ptr(), y.data_ptr()])

    def test_without_elements_nothing_is_launched(self):
        launches, y = self.launched(tw.softmax, torch.ones(0, 64, dtype=BF16))
        self.assertEqual((launches, y.shape), ([], (0, 64)))
        launches, table = self.launched(tw.embedding_bwd, torch.ones(0, 64, dtype=BF16), torch.ones(0, dtype=I64), 9)
        self.assertEqual((launches, table.abs().sum().item()), ([], 0))

    def test_a_product_over_nothing_has_its_bias_and_residual(self):
        a, b, bias = torch.ones(4, 0, dtype=BF16), torch.ones(32, 0, dtype=BF16), torch.ones(32, dtype=BF16)
        launches, c = self.launched(tw.gemm, a, b)
        self.assertEqual((launches, c.abs().sum().item()), ([], 0))
        (handed,), c = self.launched(tw.gemm, a, b, bias=bias, act="gelu")
        self.assertEqual((handed[0].count("bias=yes"), handed[2], c.shape), (1, (4, 32, 1), (4, 32)))
        self.assertEqual(handed[3][2], bias.data_ptr())
        (again,), _ = self.launched(tw.gemm, a, b, bias=bias, act="gelu")
        self.assertEqual(again[2], (4, 32, 1))

    def test_out_is_what_is_written(self):
        x, total, y = (torch.ones(4, 1024, dtype=BF16) for _ in range(3))
        (handed,), given = self.launched(tw.add_rmsnorm, x, x, x[0], 1e-6, store=True, out=(total, y))
        self.assertEqual(handed[3][3:], [total.data_ptr(), y.data_ptr()])
        self.assertTrue(given[0] is total and given[1] is y)

    def test_out_tells_autograd_that_it_is_another(self):
        kept = torch.ones(4, 1024, requires_grad=True).exp()
        with torch.no_grad():
            self.launched(tw.softmax, torch.ones(4, 1024), out=kept)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            kept.sum().backward()
        with torch.inference_mode():
            self.launched(tw.softmax, torch.ones(4, 1024, dtype=BF16), out=torch.ones(4, 1024, dtype=BF16))

    def test_out_has_no_gradient(self):
        x = torch.ones(4, 1024, dtype=BF16, requires_grad=True)
        with self.assertRaisesRegex(tilewright.UsageError, "call it without out="):
            tw.softmax(x, out=torch.ones(4, 1024, dtype=BF16))

    def test_a_call_that_does_not_fit_is_refused_without_the_dispatcher_too(self):
        x = torch.ones(4, 64, dtype=BF16)
        with mock.patch.object(tw, "is_direct", return_value=True):
            for args, text in (((x, 0), "softmax takes x; the call passes 2 arguments"),
                               ((3,), "softmax: 'x' is 3 and no tensor")):
                with self.assertRaisesRegex(tilewright.UsageError, text):
                    tw.softmax(*args)
            with self.assertRaisesRegex(tilewright.UsageError, "the call passes x"):
                tw.rmsnorm(x)

    def test_layers_that_are_swapped_call_without_torchs_dispatcher(self):
        nn, x = torch.nn, torch.ones(2, 3, 64, dtype=BF16)
        model = nn.Sequential(nn.RMSNorm(64), LlamaRMSNorm(64), nn.LayerNorm(64), nn.Softmax(-1), nn.Linear(64, 64),
                              LlamaMLP(nn.functional.silu)).bfloat16()
        self.assertTrue(all(each.op for each in tw.swap(model)))
        for patch in (mock.patch.object(_torch_swap, "_is_served", return_value=True),
                      mock.patch.object(_torch_op, "is_direct", return_value=True),
                      *(mock.patch.object(_torch_swap.FORMS[op][key], "torch_op", side_effect=AssertionError)
                        for op in ("rmsnorm", "layernorm", "softmax", "swiglu", "gemm")
                        for key in _torch_swap.FORMS[op])):
            patch.start()
            self.addCleanup(patch.stop)
        with torch.no_grad():
            handed, y = self.launched(model, x)
        self.assertEqual([each[0].partition("[")[0] for each in handed],
                         ["rmsnorm", "rmsnorm", "layernorm", "softmax", "gemm", "gemm", "gemm", "swiglu", "gemm"])
        self.assertEqual([each[4] for each in handed[:3]], [[_torch_swap._default_eps(BF16)], [1e-6], [1e-5]])
        self.assertEqual(y.shape, x.shape)

    def test_gradients_of_plain_tensors_are_recorded_without_asking_the_dispatcher_again(self):
        a, b, bias = (torch.ones(shape, dtype=BF16, requires_grad=True) for shape in ((4, 64), (32, 64), (32,)))
        form = tw._forms["gemm"][()]
        with mock.patch.object(_torch_op, "is_plain", return_value=True):
            handed, c = self.launched(form.differentiable, None, a, b, bias)
            self.assertEqual((len(handed), c.shape), (1, (4, 32)))
            handed, _ = self.launched(c.sum().backward)
            with torch.no_grad():
                self.assertFalse(form.differentiable(None, a, b).requires_grad)
            self.assertFalse(form.differentiable(None, a.detach(), b.detach()).requires_grad)
        self.assertEqual([each[0].partition("layout=")[2][:2] for each in handed], ["nn", "tn"])
        self.assertEqual([each.grad.shape for each in (a, b, bias)], [a.shape, b.shape, bias.shape])
        self.assertEqual(bias.grad.unique().tolist(), [4.0])

    def test_torch_finds_schemas_and_fake_kernels_true(self):
        """opcheck but for what computes. The GPU's test does all of it, and of every form."""
        parts, checked = ("test_schema", "test_faketensor", "test_autograd_registration"), set()
        for form, choice, present in torch_gpu_test.wanted():
            name, spec = form.definition["name"], torch_gpu_test.spec_of(form, choice)
            try:
                op = tilewright.op(name, **spec)
            except tilewright.UsageError:
                continue  # not shipped
            if op.match(**torch_gpu_test.dims_of(form)):
                with mock.patch.object(torch_gpu_test, "DEVICE", "cpu"), self.subTest(form=form.name, choice=choice):
                    args = torch_gpu_test.arguments(form, choice, present, gradient=False)
                    outs = torch_gpu_test.outs_of(form, form.torch_op(*args))
                    torch.library.opcheck(form.torch_op, args, test_utils=parts)
                    torch.library.opcheck(form.torch_op_into, args, outs, test_utils=parts)
                    checked.add(name)
        self.assertGreater(len(checked), 20)


class LlamaRMSNorm(torch.nn.Module):
    def __init__(self, cols, more=0):
        super().__init__()
        self.weight, self.variance_epsilon, self.more = torch.nn.Parameter(torch.ones(cols)), 1e-6, more

    def forward(self, x):
        wide = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        return (self.weight + self.more) * wide.to(x.dtype)


class GemmaRMSNorm(LlamaRMSNorm):
    def __init__(self, cols):
        super().__init__(cols, 1)


class UnknownEpsRMSNorm(LlamaRMSNorm):
    def __init__(self, cols):
        super().__init__(cols)
        self.epsilon = self.__dict__.pop("variance_epsilon")

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon)


class OtherEpsRMSNorm(LlamaRMSNorm):
    def forward(self, x):
        return self.weight * x / (x.pow(2).mean(-1, keepdim=True).sqrt() + self.variance_epsilon)


class LlamaMLP(torch.nn.Module):
    def __init__(self, act):
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = (torch.nn.Linear(64, 64, bias=False) for _ in range(3))
        self.act = act

    def forward(self, x):
        return self.down_proj(self.act(self.gate_proj(x)) * self.up_proj(x))


class Other(torch.nn.Linear):
    pass


class OnGpu(torch.Tensor):
    """Of the CPU, and taken for a GPU's."""

    is_cuda = True


class Swap(unittest.TestCase):
    def model(self):
        nn = torch.nn
        return nn.ModuleDict({
            "llama": LlamaRMSNorm(64), "gemma": GemmaRMSNorm(64), "rms": nn.RMSNorm(64), "layer": nn.LayerNorm(64),
            "unknown": UnknownEpsRMSNorm(64), "outside": OtherEpsRMSNorm(64),
            "image": nn.LayerNorm((8, 8)), "bare": nn.LayerNorm(64, bias=False), "softmax": nn.Softmax(-1),
            "columns": nn.Softmax(0), "linear": nn.Linear(64, 8), "other": Other(64, 8),
            "mlp": LlamaMLP(nn.functional.silu), "gelu": LlamaMLP(nn.functional.gelu)}).bfloat16()

    def test_tells_what_it_swapped_and_what_not_and_why(self):
        model = self.model()
        report = {each.name: each for each in tw.swap(model)}
        swapped = {name: each.op for name, each in report.items() if each.op}
        self.assertEqual(swapped, {
            "llama": "rmsnorm", "rms": "rmsnorm", "layer": "layernorm", "softmax": "softmax", "linear": "gemm",
            "mlp": "swiglu",
            **{f"{mlp}.{name}_proj": "gemm" for mlp in ("mlp", "gelu") for name in ("gate", "up", "down")}})
        self.assertEqual({name: each.why for name, each in report.items() if each.why}, {
            "gemma": "it computes something else than its name says",
            "unknown": "it has no eps that is known", "outside": "it computes something else than its name says",
            "image": "it norms over 2 extents; the op does over the last",
            "bare": "it has no bias", "columns": "its dim is 0; name the last extent as -1",
            "other": "Other is no plain torch.nn.Linear", "gelu": "it computes something else than its name says"})
        self.assertEqual(str(report["linear"]), "linear (Linear): gemm")

    def test_keeps_parameters_and_what_the_model_computes_on_the_cpu(self):
        model = self.model()
        before, x = copy.deepcopy(model), torch.randn(2, 64).bfloat16()
        tw.swap(model)
        self.assertEqual(list(model.state_dict()), list(before.state_dict()))
        for name in ("llama", "gemma", "rms", "layer", "softmax", "linear", "mlp"):
            self.assertTrue(torch.equal(model[name](x), before[name](x)))
        self.assertIsInstance(model["linear"], torch.nn.Linear)
        self.assertTrue(torch.equal(copy.deepcopy(model)["mlp"](x), before["mlp"](x)))

    def test_is_of_models_that_are_saved_and_loaded(self):
        model, file = self.model(), io.BytesIO()
        tw.swap(model)
        torch.save(model, file)
        file.seek(0)
        loaded, x = torch.load(file, weights_only=False), torch.randn(2, 64).bfloat16()
        for name in ("llama", "rms", "layer", "softmax", "linear", "mlp"):
            self.assertIs(type(loaded[name]), type(model[name]))
            self.assertTrue(torch.equal(loaded[name](x), model[name](x)))

    def test_leaves_to_classes_derived_from_its_own_how_they_are_copied(self):
        linear, x = torch.nn.Linear(64, 8), torch.randn(2, 64)
        tw.swap(linear)
        mixin, made = type("Mixin", (), {}), type(linear)
        for bases in ((mixin, made), (made,)):
            with self.subTest(bases):
                linear.__class__ = type("Derived", bases, {})
                copied = copy.deepcopy(linear)
                self.assertIs(type(copied), type(linear))
                self.assertTrue(torch.equal(copied(x), linear(x)))

    def test_takes_the_eps_that_torch_takes_where_a_layer_has_none(self):
        for dtype in (BF16, torch.float16, F32):
            x = torch.full((1, 64), 2e-3, dtype=dtype)
            wide, layer = x.double(), torch.nn.RMSNorm(64, dtype=dtype)
            right = wide * (wide.square().mean() + _torch_swap._eps(layer, "eps", x)).rsqrt()
            self.assertTrue(torch.allclose(layer(x).double(), right, rtol=0.02), dtype)

    def test_leaves_to_the_layers_what_the_ops_do_not_take(self):
        model = self.model()
        before = copy.deepcopy(model)
        tw.swap(model)
        row, wide = torch.randn(64).bfloat16().as_subclass(OnGpu), torch.randn(2, 64).double().as_subclass(OnGpu)
        for name in ("llama", "rms", "layer", "softmax", "linear", "mlp"):
            self.assertTrue(torch.equal(model[name](row), before[name](row)), name)
        self.assertTrue(torch.equal(model["softmax"](wide), before["softmax"](wide)))

    def test_changes_nothing_in_a_dry_run_nor_twice(self):
        model = self.model()
        dry = tw.swap(model, dry_run=True)
        self.assertIs(type(model["linear"]), torch.nn.Linear)
        self.assertEqual(tw.swap(model), dry)
        self.assertEqual([each.op for each in tw.swap(model)], [None] * 8)

    def test_swaps_the_ops_that_are_named_alone(self):
        self.assertEqual({each.op for each in tw.swap(self.model(), ["softmax"]) if each.op}, {"softmax"})

    def test_refuses_an_op_that_it_does_not_swap(self):
        with self.assertRaisesRegex(tilewright.UsageError, "knows no add, sofmax; it swaps rmsnorm, layernorm"):
            tw.swap(self.model(), ["sofmax", "add", "gemm"])

    def test_leaves_what_the_cache_has_no_kernels_for(self):
        (found,) = tw.swap(torch.nn.LayerNorm(64).double())
        self.assertEqual((found.op, found.name), (None, "the model"))
        self.assertIn("f64", found.why)


if __name__ == "__main__":
    unittest.main()
