# SPDX-License-Identifier: Apache-2.0
"""Products under the roof of tensor cores: real records of an H200 with ceilings of 4 TB/s, without a rate of tensor
cores and with one."""
import json
import unittest

import cache_rows
from browser import BrowserTest
from real_records import program, write_real_cache

RATE = 860e12


def winners(cache):
    return json.loads(program("table", "gemm", "dtype=bf16", "--cache", cache, "--format", "json"))["rows"]


def put_ceilings(cache):
    """For each product, in any ratio of reading to writing: 4 TB/s, in the place of those that the records have."""
    device = "(SELECT device FROM compute_rates LIMIT 1)"
    copies = [(row["bytes"], reads, row["bytes"] / 4e12 * 1e9) for row in winners(cache) for reads in (1, 2, 3)]
    database = cache_rows.connect(cache)
    with database:
        database.execute("DELETE FROM ceilings")
        database.executemany(
            "INSERT INTO ceilings (device, mode, bytes, reads, copy_op_ns, gpu_uuid, measured_at) "
            f"VALUES ({device}, 'cold', ?, ?, ?, '', 1)", copies)
    database.close()


def put_rate(cache):
    """As a sweep of a product stores it."""
    database = cache_rows.connect(cache)
    with database:
        database.execute(
            "INSERT INTO compute_rates (device, unit, flops_per_second, config, gpu_uuid, measured_at) "
            "SELECT device, 'tensor_bf16', ?, 'warpgroup{warpgroups=1,block_n=256}', gpu_uuid, measured_at "
            "FROM compute_rates",
            (RATE,))
    database.close()


class Roofline(BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pages, cls.rows = {}, {}
        for name in ("old", "new"):
            cache = cls.folder / f"{name}.db"
            write_real_cache(cache)
            put_ceilings(cache)
            if name == "new":
                put_rate(cache)
            cls.rows[name] = winners(cache)
            cls.pages[name] = cls.folder / f"{name}.html"
            program("report", "--cache", cache, "-o", cls.pages[name])

    def legend(self, page):
        return page.evaluate(
            "() => document.querySelector('.chart').chart.getOption().legend[0].data.map((item) => item.name)")

    def test_a_product_has_its_share_of_the_rate_of_tensor_cores_and_none_where_that_is_not_known(self):
        by_key = {row["shape_key"]: row for row in self.rows["old"]}
        self.assertGreater(len(by_key), 5)
        for row in self.rows["new"]:
            old = by_key[row["shape_key"]]
            self.assertEqual(old["ceiling_unit"], "fp32")
            self.assertEqual(row["ceiling_unit"], "tensor_bf16")
            self.assertAlmostEqual(row["share_of_compute_ceiling"], row["gflop_per_s"] * 1e9 / RATE)
            self.assertAlmostEqual(row["ridge_flop_per_byte"], RATE / 4e12)
            self.assertEqual((old["bound"], row["bound"]), ("compute", "compute"))
            self.assertIsNone(old["share_of_ceiling"])
            self.assertEqual(row["share_of_ceiling"], row["share_of_compute_ceiling"])

    def test_the_plot_has_the_roof_of_what_is_in_it(self):
        old = self.legend(self.open(self.pages["old"], "view=roofline&op=gemm&dtype=bf16"))
        self.assertTrue(any("fp32 multiply-adds" in name for name in old), old)
        page = self.open(self.pages["new"], "view=roofline&op=gemm&dtype=bf16")
        new = self.legend(page)
        self.assertTrue(any("860.0 TFLOP/s, bf16 on tensor cores" in name for name in new), new)
        self.assertFalse(any("fp32" in name for name in new), new)
        self.assertNotIn("may exceed", page.locator("main").inner_text())
        self.assertEqual(self.errors, [])

    def test_the_plot_of_all_ops_has_both_roofs_and_the_one_of_memory_goes_up_to_the_higher(self):
        page = self.open(self.pages["new"], "view=roofline&dtype=bf16")
        self.assertEqual(sum("compute: " in name for name in self.legend(page)), 2)
        memory, fp32, tensor = page.evaluate(
            """() => document.querySelector('.chart').chart.getOption().series
                .filter((one) => one.type === 'line').map((one) => one.data)""")
        self.assertAlmostEqual(tensor[0][1], RATE / 1e9)
        self.assertAlmostEqual(memory[1][0], tensor[0][0])
        self.assertAlmostEqual(memory[1][1] / tensor[0][1], 1)
        self.assertLess(fp32[0][0], tensor[0][0])
        self.assertEqual(self.errors, [])


if __name__ == "__main__":
    unittest.main()
