# SPDX-License-Identifier: Apache-2.0
import re
import unittest

from peers import fused_cells, registry


def cells(op, **wanted):
    return fused_cells.BY_OP[op].make_cells(**wanted)


def names(op, dims, **attributes):
    return [argument.name for argument in
            fused_cells.FusedCell(op, tuple(attributes.items()), "bf16", dims).arguments()]


class FusedCells(unittest.TestCase):
    def test_have_names_of_their_own_that_files_can_bear(self):
        found = [cell.name for op in fused_cells.DIMS for cell in cells(op)]
        self.assertEqual(len(found), len(set(found)))
        for name in found:
            self.assertRegex(name, r"\A[\w=.-]+\Z")

    def test_are_chosen_by_type_shape_and_expression(self):
        chosen = cells("mlp", dtypes=["f16"], shapes=["3x8x16x8"], only="gated=yes")
        self.assertEqual([cell.name for cell in chosen], ["mlp-gated=yes-act=silu-bias=no-f16-3x8x16x8"])
        self.assertRaises(ValueError, cells, "mlp", shapes=["3x8x16"])
        self.assertRaises(ValueError, cells, "mlp", dtypes=["f32"])
        self.assertRaises(ValueError, cells, "mlp", sets=["plain"])
        self.assertRaises(re.error, cells, "mlp", only="(")

    def test_have_the_arguments_of_their_definitions_in_order(self):
        dims = (2, 3, 4)
        self.assertEqual(names("gemm_dropout", dims, bias="yes", act="gelu", residual="yes"),
                         "a b bias residual c p seed offset".split())
        self.assertEqual(names("gemm_gated", dims, weights="split", act="silu", bias="yes", store="yes"),
                         "a wg wu bg bu y gate up".split())
        self.assertEqual(names("gemm_gated", dims, weights="packed", act="silu", bias="no", store="no"),
                         "a w y".split())
        self.assertEqual(names("gemm_add_rmsnorm", dims, bias="yes"), "a b bias residual weight s y eps".split())
        self.assertEqual(names("gemm_add_layernorm", dims, bias="no"), "a b residual weight norm_bias s y eps".split())
        self.assertEqual(names("mlp", (2, 3, 4, 5), gated="yes", act="silu", bias="yes"),
                         "x w_gate w_up w_down b_gate b_up b_down y".split())
        self.assertEqual(names("mlp", (2, 3, 4, 5), gated="no", act="gelu", bias="no"), "x w_up w_down y".split())

    def test_count_each_tensor_and_the_operations_of_the_products(self):
        gated = cells("gemm_gated", shapes=["2x3x4"])[0]
        self.assertEqual((gated.bytes, gated.flops), (2 * (8 + 24 + 6), 96))
        mlp = cells("mlp", shapes=["2x3x4x5"], only="gated=yes")[0]
        self.assertEqual(mlp.call_dims, (2, 3, 4, 5))
        self.assertEqual((mlp.bytes, mlp.flops), (2 * (6 + 24 + 20 + 10), 2 * 2 * 4 * (2 * 3 + 5)))

    def test_of_few_rows_are_held_to_a_copy_of_as_many_bytes(self):
        self.assertEqual({cell.dims[0] for cell in cells("mlp") if cell.is_read}, {1, 16})
        self.assertFalse(any(cell.is_read for cell in cells("gemm_dropout", shapes=["1x8x8"])), "it has its product")
        cell = cells("gemm_gated", shapes=["1x256x256"])[0]
        self.assertEqual((cell.reads, cell.copied), (3, (256 + 2 * 256 * 256 + 256) // 4))

    def test_of_norms_are_held_to_a_copy_of_the_matrix_that_they_write_besides(self):
        written = cells("gemm_add_rmsnorm", shapes=["3x5x7"])[0].written
        self.assertEqual((written.reads, written.copied, written.bytes), (1, 15, 60))
        self.assertTrue(all(cell.written is None for op in ("mlp", "gemm_gated", "gemm_dropout") for cell in cells(op)))

    def test_are_compared_with_torch_triton_our_own_chain_and_quack_where_it_has_them(self):
        def peers(op):
            return registry.expected(cells(op)[0], list(registry.PEERS))
        self.assertEqual(peers("gemm_dropout"), ["eager", "compile", "triton", "unfused"])
        for op in ("gemm_gated", "gemm_add_rmsnorm", "gemm_add_layernorm", "mlp"):
            self.assertEqual(peers(op), ["eager", "compile", "triton", "quack", "unfused"])

    def test_have_no_triton_where_weights_are_not_packed_or_a_bias_is_added(self):
        plain = {"weights": "packed", "act": "silu", "bias": "no", "store": "no"}
        for other in ({}, {"weights": "split"}, {"bias": "yes"}, {"store": "yes"}):
            cell = fused_cells.FusedCell("gemm_gated", tuple((plain | other).items()), "bf16", (16, 64, 64))
            self.assertEqual("triton" in registry.expected(cell, ["triton"]), not other, other)


if __name__ == "__main__":
    unittest.main()
