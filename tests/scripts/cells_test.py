# SPDX-License-Identifier: Apache-2.0
import re
import unittest

from peers import cells


def cell(op, shape="8192x4096", dtype="bf16", **attributes):
    return cells.Cell(op, tuple(attributes.items()), dtype, *cells.parse_shape(shape))


class Cells(unittest.TestCase):
    def test_have_names_of_their_own_that_files_can_bear(self):
        names = [each.name for each in cells.make_cells(["bf16", "f32"])]
        self.assertEqual(len(names), len(set(names)))
        for name in names:
            self.assertRegex(name, r"\A[\w=.-]+\Z")

    def test_cover_every_op_with_every_attribute(self):
        variants = {each.variant for each in cells.make_cells(["bf16"])}
        for act in cells.ACTS:
            self.assertIn(f"bias_act[act={act}]", variants)
            self.assertIn(f"bias_act_dropout[act={act}]", variants)
            if act != "none":
                self.assertIn(f"activation[act={act}]", variants)
        self.assertLessEqual({"softmax", "rmsnorm", "layernorm", "add_rmsnorm[store=no]", "add_rmsnorm[store=yes]",
                              "add_rmsnorm_silu", "add_layernorm[store=no]", "add_layernorm[store=yes]",
                              "swiglu[layout=split]", "swiglu[layout=packed]", "dropout", "add[act=none]",
                              "mul[act=none]"}, variants)

    def test_of_softmax_and_the_norms_have_narrow_rows(self):
        narrow = {variant: set() for variant in ("softmax", "rmsnorm", "layernorm", "add_rmsnorm[store=no]",
                                                 "add_rmsnorm[store=yes]")}
        for each in cells.make_cells(["bf16"]):
            if each.shape in cells.NARROW_SHAPES:
                narrow[each.variant].add(each.cols)
        for variant, widths in narrow.items():
            self.assertEqual(widths, {32, 64, 128, 512}, variant)

    def test_are_chosen_by_expression_shape_and_type(self):
        chosen = cells.make_cells(["f32"], ["7x5", "16x4096"], "^softmax-")
        self.assertEqual([each.name for each in chosen], ["softmax-f32-7x5", "softmax-f32-16x4096"])
        self.assertEqual({each.op for each in cells.make_cells(["f32"], ops=["mul", "add"])}, {"mul", "add"})
        self.assertRaises(ValueError, cells.make_cells, ["f32"], None, None, ["div"])
        self.assertRaises(ValueError, cells.make_cells, ["f8"])
        self.assertRaises(ValueError, cells.make_cells, ["f32"], ["7by5"])
        self.assertRaises(re.error, cells.make_cells, ["f32"], None, "(")

    def test_say_their_spec_as_the_library_takes_it(self):
        self.assertEqual(cell("swiglu", layout="packed").spec, "swiglu[dtype=bf16,layout=packed]")
        self.assertEqual(cell("softmax").spec, "softmax[dtype=bf16]")

    def test_of_flat_ops_have_one_dim(self):
        self.assertEqual(cell("add", "3x5", act="none").dims, (15,))
        self.assertEqual(cell("softmax", "3x5").dims, (3, 5))


    def test_of_the_way_back_have_the_arguments_of_their_definitions_in_order(self):
        def names(op, **attributes):
            return [argument.name for argument in cell(op, "3x5", **attributes).arguments()]
        self.assertEqual(names("rmsnorm_bwd"), ["x", "weight", "dy", "dx", "dw", "eps"])
        self.assertEqual(names("layernorm_bwd"), ["x", "weight", "dy", "dx", "dw", "db", "eps"])
        self.assertEqual(names("rmsnorm_bwd", add="yes"), ["x", "weight", "dy", "dsum", "dx", "dw", "eps"])
        self.assertEqual(names("layernorm_bwd", add="yes"), ["x", "weight", "dy", "dsum", "dx", "dw", "db", "eps"])
        self.assertEqual(names("swiglu_bwd", layout="split"), ["gate", "up", "dy", "dgate", "dup"])
        self.assertEqual(names("swiglu_bwd", layout="packed"), ["gate_up", "dy", "dgate_up"])
        self.assertEqual(names("activation_bwd", act="gelu"), ["x", "dy", "dx"])
        self.assertEqual(names("bias_act_dropout_bwd", act="gelu"),
                         ["x", "bias", "dy", "dx", "dbias", "scale", "p", "seed", "offset"])
        self.assertEqual(names("cross_entropy", grad="no"), ["logits", "target", "loss", "lse", "smoothing", "ignore"])
        self.assertEqual(names("cross_entropy", grad="yes"),
                         ["logits", "target", "dloss", "loss", "lse", "dlogits", "smoothing", "ignore"])
        self.assertEqual(names("embedding"), ["table", "index", "y"])
        self.assertEqual(names("embedding_bwd"), ["dy", "index", "dtable"])
        strides = ["q_token", "q_head", "k_token", "k_head", "q_out_token", "q_out_head", "k_out_token", "k_out_head"]
        given = ["q", "k", "cos", "sin", "position"]
        self.assertEqual(names("rope", style="interleaved", norm="no"), given + ["q_out", "k_out"] + strides)
        self.assertEqual(names("rope", style="halved", norm="yes"),
                         given + ["wq", "wk", "q_out", "k_out", "eps"] + strides)

    def test_of_the_way_back_have_the_rarer_attributes_at_few_shapes(self):
        shapes = {}
        for each in cells.make_cells(["bf16"], ops=cells.BACKWARD):
            shapes.setdefault(each.variant, []).append(each.shape)
        for variant in ("rmsnorm_bwd[add=yes]", "layernorm_bwd[add=yes]", "swiglu_bwd[layout=packed]",
                        "activation_bwd[act=gelu]", "rope[style=interleaved,norm=no]", "rope[style=halved,norm=yes]"):
            self.assertIn(len(shapes[variant]), (2, 3), variant)

    def test_know_the_dims_of_their_op_beside_rows_and_columns(self):
        self.assertEqual(cell("embedding", "70x1024").call_dims, (70, cells.VOCAB, 1024))
        self.assertEqual(cell("activation_bwd", "3x5", act="gelu").call_dims, (15,))
        self.assertEqual(cell("rope", "16x4096").call_dims, (16, 32, 32, 128, 128, cells.POSITIONS))
        self.assertEqual(cell("softmax", "3x5").call_dims, (3, 5))


class Traffic(unittest.TestCase):
    def test_of_the_way_back_counts_each_type(self):
        self.assertEqual(cell("rmsnorm_bwd", "3x5").traffic(), (60 + 10, 30 + 20))
        self.assertEqual(cell("rmsnorm_bwd", "3x5", add="yes").traffic(), (90 + 10, 30 + 20))
        self.assertEqual(cell("swiglu_bwd", "3x5", layout="packed").traffic(), (60 + 30, 60))
        self.assertEqual(cell("activation_bwd", "3x5", act="gelu").traffic(), (60, 30))
        self.assertEqual(cell("cross_entropy", "3x5", grad="no").traffic(), (30 + 24, 24))
        self.assertEqual(cell("cross_entropy", "3x5", grad="yes").traffic(), (30 + 24 + 12, 24 + 30))

    def test_counts_no_more_rows_of_a_table_than_are_asked_for(self):
        self.assertEqual(cell("embedding", "3x5").traffic(), (30 + 24, 30))
        self.assertEqual(cell("embedding", "32001x5").traffic(), (cells.VOCAB * 10 + 32001 * 8, 320010))
        self.assertEqual(cell("embedding_bwd", "3x5").traffic(), (30 + 24, cells.VOCAB * 20))
        rope = cell("rope", "3x128", style="halved", norm="no")
        self.assertEqual(rope.traffic(), (2 * 768 + 2 * 3 * 64 * 4 + 12, 2 * 768))
        self.assertEqual(cell("rope", "3x128", style="halved", norm="yes").traffic()[0],
                         rope.traffic()[0] + 2 * 128 * 2)

    def test_is_of_every_tensor_once(self):
        self.assertEqual(cell("softmax", "3x5").traffic(), (30, 30))
        self.assertEqual(cell("layernorm", "3x5").traffic(), (30 + 20, 30))
        self.assertEqual(cell("add_rmsnorm", "3x5", store="yes").traffic(), (60 + 10, 60))
        self.assertEqual(cell("swiglu", "3x5", layout="packed").traffic(), (60, 30))
        self.assertEqual(cell("mul", "3x5", dtype="f32", act="none").traffic(), (120, 60))

    def test_is_that_of_a_copy_of_as_many_elements(self):
        softmax = cell("softmax_bwd", "8192x4096")
        self.assertEqual((softmax.reads, softmax.copied), (2, 8192 * 4096))
        cross_entropy = cell("cross_entropy", "2x1000", grad="no")
        self.assertEqual((cross_entropy.reads, cross_entropy.copied), (3, (4000 + 16 + 16) // 8))

    def test_is_compared_with_the_nearest_ratio(self):
        self.assertEqual(cell("softmax").reads, 1)
        self.assertEqual(cell("rmsnorm").reads, 1)
        self.assertEqual(cell("add_rmsnorm", store="no").reads, 2)
        self.assertEqual(cell("add_rmsnorm", store="yes").reads, 1)
        self.assertEqual(cell("swiglu", layout="packed").reads, 2)
        self.assertEqual(cell("layernorm", "1x4096").reads, 3)


class Arguments(unittest.TestCase):
    def test_are_in_the_order_of_the_definitions(self):
        expected = {
            ("add_layernorm", "store", "yes"): "x residual weight bias sum y eps",
            ("add_layernorm", "store", "no"): "x residual weight bias y eps",
            ("add_rmsnorm", "store", "yes"): "x residual weight sum y eps",
            ("bias_act_dropout", "act", "gelu"): "x bias y scale p seed offset",
            ("swiglu", "layout", "split"): "gate up y",
            ("swiglu", "layout", "packed"): "gate_up y",
        }
        for (op, name, value), names in expected.items():
            self.assertEqual(" ".join(each.name for each in cells.arguments(op, {name: value})), names)
        self.assertEqual([each.name for each in cells.arguments("dropout", {})], ["x", "y", "p", "seed", "offset"])
        self.assertEqual([each.name for each in cells.arguments("add_rmsnorm_silu", {})],
                         ["x", "residual", "weight", "y", "eps"])
        self.assertRaises(ValueError, cells.arguments, "softmin", {})


if __name__ == "__main__":
    unittest.main()
