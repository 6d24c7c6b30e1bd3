# SPDX-License-Identifier: Apache-2.0
import re
import unittest

from peers import attention_cells


def cell(causal=True, b=4, hq=32, hkv=8, s=2048, d=128, dv=128):
    return attention_cells.AttentionCell("main", causal, "bf16", b, hq, hkv, s, d, dv)


class Cells(unittest.TestCase):
    def test_are_those_of_the_comparison(self):
        by_set = {name: attention_cells.make_cells(sets=[name]) for name in attention_cells.SETS}
        self.assertEqual({name: len(cells) for name, cells in by_set.items()}, {"main": 48, "heads": 8, "odd": 12})
        self.assertEqual({(each.d, each.dv) for each in by_set["heads"]}, {(96, 96), (192, 128)})
        self.assertEqual({(each.b, each.s) for each in by_set["odd"]}, {(4, 3001)})

    def test_have_names_of_their_own_that_files_can_bear(self):
        names = [each.name for each in attention_cells.make_cells()]
        self.assertEqual(len(names), len(set(names)))
        for name in names:
            self.assertRegex(name, r"\A[\w=.-]+\Z")
        self.assertEqual(cell().name, "attention-d128-causal-bf16-b4-h32x8-s2048")

    def test_are_chosen_by_expression_shape_type_and_set(self):
        chosen = attention_cells.make_cells(shapes=["3x77"], only="d192x128-full-bf16-.*h16x16")
        self.assertEqual([each.name for each in chosen], ["attention-d192x128-full-bf16-b3-h16x16-s77"])
        self.assertEqual({each.dtype for each in attention_cells.make_cells(["f16"])}, {"f16"})
        self.assertRaises(ValueError, attention_cells.make_cells, ["f32"])
        self.assertRaises(ValueError, attention_cells.make_cells, None, ["7"])
        self.assertRaises(ValueError, attention_cells.make_cells, None, None, None, ["all"])
        self.assertRaises(re.error, attention_cells.make_cells, None, None, "(")

    def test_pass_arguments_in_the_order_of_the_definition(self):
        named = {each.name: each for each in cell().arguments()}
        strides = [f"{tensor}_{dim}" for tensor in "qkvo" for dim in ("batch", "token", "head")]
        self.assertEqual(list(named), ["q", "k", "v", "o", "scale", *strides])
        self.assertEqual([named[f"k_{dim}"].value for dim in ("batch", "token", "head")],
                         [2048 * 8 * 128, 8 * 128, 128])
        self.assertEqual(named["q"].shape, (4, 2048, 32, 128))
        self.assertEqual(cell().spec, "attention[dtype=bf16,causal=yes,lse=no,window=no,softcap=no]")

    def test_count_bytes_and_operations(self):
        self.assertEqual(cell().bytes, 2 * 4 * 2048 * 128 * (32 + 8 + 8 + 32))
        self.assertEqual(cell(causal=False).flops, 4 * 4 * 32 * 2048 * 2048 * 128)
        self.assertEqual(cell().flops, cell(causal=False).flops // 2)

    def test_compare_the_first_and_the_last_queries(self):
        tokens = attention_cells.sampled_tokens(3001)
        self.assertEqual(tokens[:32] + tokens[-32:], [*range(32), *range(2969, 3001)])
        self.assertEqual(len(tokens), len(set(tokens)))
        self.assertLessEqual(len(tokens), attention_cells.SAMPLED_TOKENS)
        self.assertEqual(attention_cells.sampled_tokens(7), list(range(7)))
