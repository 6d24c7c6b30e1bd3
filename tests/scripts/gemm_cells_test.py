# SPDX-License-Identifier: Apache-2.0
import re
import unittest

from peers import gemm_cells, gemm_drawn


def cell(m=64, n=128, k=256, dtype="bf16", **changed):
    return gemm_cells.GemmCell(tuple({**gemm_cells.DEFAULTS, **changed}.items()), dtype, m, n, k)


def shapes(cells):
    return [each.dims for each in cells]


class Cells(unittest.TestCase):
    def test_have_names_of_their_own_that_files_can_bear(self):
        names = [each.name for each in gemm_cells.make_cells()]
        self.assertEqual(len(names), len(set(names)))
        for name in names:
            self.assertRegex(name, r"\A[\w=.-]+\Z")

    def test_are_in_sets(self):
        by_set = {name: gemm_cells.make_cells(sets=[name]) for name in gemm_cells.SETS}
        self.assertEqual(sum(map(len, by_set.values())), len(gemm_cells.make_cells()))
        for name, cells in by_set.items():
            self.assertTrue(cells)
            self.assertEqual({each.set for each in cells}, {name})
        # 18 products by weights and 5 cubes, one of which is both, and 5 ragged ones.
        self.assertEqual(len(by_set["plain"]), 27)
        self.assertIn((4096, 16384, 4096), shapes(each for each in by_set["epilogue"] if each["act"] == "gelu"))
        self.assertEqual({each["layout"] for each in by_set["layouts"]}, {"nn", "tn"})
        self.assertEqual({each["math"] for each in by_set["f32"]}, {"tf32", "ieee"})

    def test_have_ragged_shapes_that_fill_no_tile(self):
        for m, n, _ in gemm_cells.RAGGED:
            self.assertTrue(m % 16 and n % 64)
        self.assertTrue(any(k % 2 for _, _, k in gemm_cells.RAGGED))
        self.assertTrue(any(n % 2 for _, n, _ in gemm_cells.RAGGED))
        self.assertTrue(any(k % 8 == 0 and n % 8 == 0 for _, n, k in gemm_cells.RAGGED))

    def test_are_chosen_by_expression_shape_type_and_set(self):
        chosen = gemm_cells.make_cells(shapes=["7x5x3"], only="^gemm-layout=nt-bf16")
        self.assertEqual([each.name for each in chosen], ["gemm-layout=nt-bf16-7x5x3"])
        self.assertEqual({each.dtype for each in gemm_cells.make_cells(["f16", "f32"])}, {"f16", "f32"})
        self.assertRaises(ValueError, gemm_cells.make_cells, ["f8"])
        self.assertRaises(ValueError, gemm_cells.make_cells, None, ["7x5"])
        self.assertRaises(ValueError, gemm_cells.make_cells, None, None, None, ["all"])
        self.assertRaises(re.error, gemm_cells.make_cells, None, None, "(")

    def test_say_their_spec_whole_and_their_name_short(self):
        each = cell(bias="yes", act="gelu")
        self.assertEqual(each.spec, "gemm[dtype=bf16,layout=nt,math=ieee,bias=yes,act=gelu,residual=no]")
        self.assertEqual(each.name, "gemm-layout=nt-bias=yes-act=gelu-bf16-64x128x256")
        self.assertEqual(each.variant, "gemm[layout=nt,bias=yes,act=gelu]")

    def test_count_bytes_and_operations(self):
        self.assertEqual(cell().bytes, 2 * (64 * 256 + 128 * 256 + 64 * 128))
        self.assertEqual(cell(bias="yes", residual="yes").bytes, cell().bytes + 2 * (128 + 64 * 128))
        self.assertEqual(cell(dtype="f32").bytes, 2 * cell().bytes)
        self.assertEqual(cell().flops, 2 * 64 * 128 * 256)


class Drawn(unittest.TestCase):
    def test_are_60_shapes_of_five_kinds_that_the_seed_alone_decides(self):
        shapes_of_34 = gemm_drawn.draw(34)
        self.assertEqual(shapes_of_34, gemm_drawn.draw(34))
        self.assertNotEqual(shapes_of_34, gemm_drawn.draw(35))
        self.assertEqual(len(dict.fromkeys(shape for _, shape in shapes_of_34)), 60)
        counts = {kind: sum(each == kind for each, _ in shapes_of_34) for kind in gemm_drawn.KINDS}
        self.assertEqual(counts, {"cube": 8, "ragged": 13, "few-rows": 13, "tall": 13, "near-128": 13})

    def test_lie_within_their_kind(self):
        for kind, (m, n, k) in gemm_drawn.draw(7):
            if kind == "ragged":
                self.assertTrue(all(1500 <= each <= 5000 and each % 8 == 0 and each % 64 for each in (m, n, k)))
            elif kind == "cube":
                self.assertTrue(m == n == k and m % 500 == 0)
            else:
                rows = {"few-rows": (150, 500), "tall": (15000, 17000), "near-128": (100, 160)}[kind]
                self.assertTrue(rows[0] <= m <= rows[1] and n % 8 == 0 and k % 8 == 0)

    def test_are_sets_of_their_own_plain_or_with_an_epilogue(self):
        self.assertEqual({each.set for each in gemm_cells.drawn_cells(34)}, {"off-beaten"})
        both = gemm_cells.drawn_cells(34, ["plain", "epilogue"])
        self.assertEqual([each.set for each in both], ["off-beaten"] * 60 + ["off-beaten epilogue"] * 60)
        self.assertEqual(len({each.name for each in both}), 120)
        self.assertEqual(both[8].facts()["kind"], "ragged")
        self.assertRaises(ValueError, gemm_cells.drawn_cells, 34, ["f16"])


class Arguments(unittest.TestCase):
    def test_are_in_the_order_of_the_definition(self):
        self.assertEqual([each.name for each in cell().arguments()], ["a", "b", "c"])
        self.assertEqual([each.name for each in cell(bias="yes", residual="yes").arguments()],
                         ["a", "b", "bias", "residual", "c"])

    def test_lie_as_the_layout_says(self):
        expected = {"nt": ((64, 256), (128, 256)), "nn": ((64, 256), (256, 128)), "tn": ((256, 64), (256, 128))}
        for layout, (a, b) in expected.items():
            arguments = cell(layout=layout).arguments()
            self.assertEqual([each.extents(None) for each in arguments], [a, b, (64, 128)])


class SampledRows(unittest.TestCase):
    def test_are_all_of_few_and_else_64_with_the_first_and_the_last(self):
        self.assertEqual(gemm_cells.sampled_rows(3), [0, 1, 2])
        for m in (65, 333, 4096, 16384):
            rows = gemm_cells.sampled_rows(m)
            self.assertEqual((rows[0], rows[-1], len(set(rows))), (0, m - 1, 64))
        self.assertGreater(len({row % 64 for row in gemm_cells.sampled_rows(4096)}), 32)


if __name__ == "__main__":
    unittest.main()
