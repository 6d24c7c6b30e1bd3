# SPDX-License-Identifier: Apache-2.0
import ast
import pathlib
import unittest

from peers import attention_bwd_cells, attention_cells, cells, fused_cells, gemm_cells, registry


def cells_of(op, **attributes):
    return [cell for cell in cells.make_cells(["bf16"], ["64x128"], ops=[op])
            if set(attributes.items()) <= set(cell.attributes)]


def product(dtype="bf16", dims=(64, 64, 64), **attributes):
    return gemm_cells.GemmCell(tuple({**gemm_cells.DEFAULTS, **attributes}.items()), dtype, *dims)


def peers_of(cell):
    return registry.expected(cell, list(registry.PEERS))


class Expected(unittest.TestCase):
    def test_of_row_ops_are_liger_and_quack_where_they_have_them(self):
        everywhere = ["eager", "compile", "triton"]
        for op, more in (("softmax", ["liger", "quack"]), ("rmsnorm", ["liger", "quack", "cudnn"]),
                         ("layernorm", ["liger", "quack", "cudnn"]), ("bias_act", []), ("dropout", []),
                         ("add_rmsnorm_silu", [])):
            self.assertEqual(peers_of(cells_of(op)[0]), everywhere + more, op)

    def test_of_fused_norms_are_those_that_do_the_same_work(self):
        self.assertIn("quack", peers_of(cells_of("add_rmsnorm", store="yes")[0]))
        self.assertNotIn("quack", peers_of(cells_of("add_rmsnorm", store="no")[0]))
        self.assertIn("liger", peers_of(cells_of("swiglu", layout="split")[0]))
        self.assertNotIn("liger", peers_of(cells_of("swiglu", layout="packed")[0]))

    def test_of_the_way_back_are_those_that_have_it(self):
        for op, attributes, more in (
                ("softmax_bwd", {}, ["liger", "quack"]), ("bias_act_dropout_bwd", {}, []), ("activation_bwd", {}, []),
                ("swiglu_bwd", {"layout": "split"}, ["liger"]), ("swiglu_bwd", {"layout": "packed"}, []),
                ("rmsnorm_bwd", {"add": "yes"}, ["liger", "quack"]), ("layernorm_bwd", {"add": "yes"}, []),
                ("cross_entropy", {}, ["liger", "quack"]), ("embedding", {}, ["liger"]),
                ("embedding_bwd", {}, ["liger"])):
            for cell in cells_of(op, **attributes):
                self.assertEqual(peers_of(cell), ["eager", "compile"] + more, cell.name)
        for op in ("rmsnorm_bwd", "layernorm_bwd"):
            self.assertEqual(peers_of(cells_of(op)[0]), ["eager", "compile", "liger", "quack", "cudnn"])
        for style, norm, more in (("halved", "no", ["liger", "quack"]), ("interleaved", "no", ["quack"]),
                                  ("halved", "yes", [])):
            rope = cells_of("rope", style=style, norm=norm)[0]
            self.assertEqual(peers_of(rope), ["eager", "compile"] + more, rope.name)
        odd = cells.make_cells(["bf16"], ["64x127"], ops=["cross_entropy"])[0]
        self.assertNotIn("quack", peers_of(odd), "it takes whole vectors alone")
        self.assertIn("liger", peers_of(odd))
        for cols, has in ((65536, True), (65537, False)):
            for op in ("softmax", "rmsnorm", "softmax_bwd"):
                wide = cells.make_cells(["bf16"], [f"2x{cols}"], ops=[op])[0]
                self.assertEqual("liger" in peers_of(wide), has, "it takes a row as one block")

    def test_of_attention_are_those_with_the_head_sizes(self):
        wide = [cell for cell in attention_cells.make_cells() if cell.d != cell.dv][0]
        self.assertNotIn("flash2", peers_of(wide))
        self.assertIn("cudnn", peers_of(wide))

    def test_of_products_are_those_with_the_epilogue(self):
        self.assertEqual(peers_of(product()), ["eager", "compile", "triton", "quack"])
        self.assertEqual(peers_of(product(bias="yes", act="gelu")),
                         ["eager", "cublaslt", "compile", "triton", "quack"])
        self.assertNotIn("quack", peers_of(product(bias="yes", act="silu")))
        self.assertNotIn("quack", peers_of(product(act="relu", residual="yes")))
        self.assertIn("quack", peers_of(product(bias="yes", residual="yes")))
        self.assertNotIn("quack", peers_of(product(dtype="f32")))

    def test_of_products_are_quack_where_rows_are_whole_vectors(self):
        def takes(*dims, **attributes):
            return "quack" in peers_of(product(dims=dims, **attributes))
        # a, b and c as the layout has them: rows of k, k and n; of k, n and n; of m, n and n.
        for layout, needed in (("nt", (False, True, True)), ("nn", (False, True, True)), ("tn", (True, True, False))):
            for position, of in enumerate("mnk"):
                dims = [64, 64, 64]
                dims[position] = 68
                self.assertEqual(takes(*dims, layout=layout), not needed[position], (layout, of))
                dims[position] = 72
                self.assertTrue(takes(*dims, layout=layout), (layout, of))
        self.assertFalse(takes(64, 68, 64, bias="yes", act="gelu"))
        self.assertTrue(takes(1, 68, 64), "the pitch of a single row is none")
        self.assertFalse(takes(1, 64, 68), "b has more rows")
        ragged = [cell for cell in gemm_cells.make_cells(sets=["plain"]) if cell.dims in gemm_cells.RAGGED]
        self.assertEqual([cell.dims for cell in ragged if "quack" in peers_of(cell)], gemm_cells.RAGGED[:2])

    def test_of_fused_products_are_quack_where_rows_are_whole_vectors(self):
        def takes(op, shape):
            cell = fused_cells.BY_OP[op].make_cells(shapes=[shape], only="gated|silu")[0]
            return "quack" in peers_of(cell)
        for op, shape, has in (("gemm_gated", "3x64x64", True), ("gemm_gated", "3x68x64", False),
                               ("gemm_gated", "3x64x68", False), ("gemm_gated", "1x68x64", False),
                               ("mlp", "3x64x64x64", True), ("mlp", "3x68x64x64", False),
                               ("mlp", "3x64x68x64", False), ("mlp", "3x64x64x68", False)):
            self.assertEqual(takes(op, shape), has, (op, shape))
        normed = {shape: fused_cells.BY_OP["gemm_add_rmsnorm"].make_cells(shapes=[shape])[0]
                  for shape in ("3x64x64", "3x68x64")}
        self.assertEqual({shape: "quack" in peers_of(cell) for shape, cell in normed.items()},
                         {"3x64x64": True, "3x68x64": False})

    def test_of_attention_are_its_kernels_and_no_eager_torch(self):
        cell = attention_cells.make_cells(sets=["heads"])[0]
        self.assertEqual(peers_of(cell), ["triton", "cudnn", "flash2", "flash4"])
        self.assertEqual(peers_of(attention_bwd_cells.make_cells()[0]), ["cudnn", "flash2", "flash4"])

    def test_are_none_that_were_not_asked_for(self):
        self.assertEqual(registry.expected(cells_of("softmax")[0], ["quack", "eager"]), ["eager", "quack"])


class Columns(unittest.TestCase):
    def test_are_of_peers_that_some_result_has_or_lacks(self):
        results = [{"arms": {"eager": {}}, "expected": ["eager", "quack"]}, {"arms": {"eager": {}, "liger": {}}}]
        self.assertEqual(registry.columns(results), ["eager", "liger", "quack"])


class Arms(unittest.TestCase):
    def test_has_a_maker_for_every_peer(self):
        """arms.py needs torch; what it says is read."""
        source = pathlib.Path(registry.__file__).with_name("arms.py").read_text(encoding="utf-8")
        makers = next(node.value for node in ast.parse(source).body
                      if isinstance(node, ast.Assign) and node.targets[0].id == "MAKERS")
        names = {key.value for key in makers.keys}
        # These two depend on earlier compilations (measure.py).
        self.assertEqual(names | {"compile", "triton", "unfused"}, set(registry.PEERS))


if __name__ == "__main__":
    unittest.main()
