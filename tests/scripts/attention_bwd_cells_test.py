# SPDX-License-Identifier: Apache-2.0
import unittest

from peers import attention_bwd_cells

CELL = attention_bwd_cells.AttentionBwdCell("main", True, "bf16", 4, 16, 8, 2048, 64, 128)


class Cells(unittest.TestCase):
    def test_are_those_of_the_comparison(self):
        cells = attention_bwd_cells.make_cells()
        self.assertEqual(len({cell.name for cell in cells}), 12)
        self.assertEqual(cells[0].name, "attention_bwd-d64-full-bf16-b8-h16x16-s1024")
        self.assertRaises(ValueError, attention_bwd_cells.make_cells, None, None, None, ["heads"])

    def test_pass_arguments_in_the_order_of_the_definition(self):
        named = {each.name: each for each in CELL.arguments()}
        tensors = ["q", "k", "v", "o", "do", "dq", "dk", "dv"]
        strides = [f"{tensor}_{dim}" for tensor in tensors for dim in ("batch", "token", "head")]
        self.assertEqual(list(named), [*tensors[:5], "lse", *tensors[5:], "scale", *strides])
        self.assertEqual([named[f"do_{dim}"].value for dim in ("batch", "token", "head")],
                         [2048 * 16 * 128, 16 * 128, 128])
        self.assertEqual((named["dk"].shape, named["dv"].shape), ((4, 2048, 8, 64), (4, 2048, 8, 128)))
        self.assertEqual((named["lse"].shape, named["lse"].type), ((4, 16, 2048), "f32"))
        self.assertEqual(CELL.spec,
                         "attention_bwd[dtype=bf16,causal=yes,window=no,softcap=no,deterministic=no]")

    def test_count_bytes_and_operations_as_the_definition_does(self):
        self.assertEqual(CELL.bytes, 2 * 4 * 2048 * (16 + 8) * (64 + 128) * 2 + 4 * 4 * 16 * 2048)
        self.assertEqual(CELL.flops, 4 * 16 * 2048 * 2048 * (6 * 64 + 4 * 128) // 2)

    def test_compare_heads_of_all_batches(self):
        heads = attention_bwd_cells.sampled_heads(CELL)
        self.assertEqual({batch for batch, _ in heads}, {0, 1, 2, 3})
        self.assertEqual(len(heads), attention_bwd_cells.SAMPLED_HEADS)
