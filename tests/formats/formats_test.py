# SPDX-License-Identifier: Apache-2.0
"""Exports of real records of an H200, read by the programs that they are for."""
import csv
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from real_records import ROOT, missing_module, program, write_real_cache

OPS = ROOT / "tests/cli/ops"
COMPARE = pathlib.Path("/usr/share/benchmark/compare.py")


def lacking(modules, files=()):
    """What is not there that a test needs; empty when all is."""
    if missing := missing_module(modules):
        return missing
    for file in files:
        if not file.exists():
            return f"{file} is missing; scripts/setup --tests installs it"
    return ""


class Formats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tilewright-formats-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.cache = cls.folder / "cache.db"
        write_real_cache(cls.cache)

    def need(self, *modules, files=()):
        missing = lacking(modules, files)
        if missing and os.environ.get("CI"):
            raise AssertionError(missing)
        if missing:
            self.skipTest(missing)

    def export(self, form, *more):
        return program("export", f"--{form}", "-", "--cache", self.cache, *more)

    def schema(self, name):
        package = pathlib.Path(importlib.util.find_spec("kernel_tuner").origin).parent
        return json.loads((package / f"schema/T4/1.0.0/{name}-schema.json").read_text())

    def test_t4_is_valid_by_the_published_schemas(self):
        self.need("jsonschema", "kernel_tuner")
        import jsonschema
        document = json.loads(self.export("t4"))
        self.assertGreater(len(document["results"]), 1000)
        self.assertGreater(len({result["invalidity"] for result in document["results"]}), 1, "failures are there too")
        for name in ("results", "metadata"):
            jsonschema.validate(document, self.schema(name))

    def test_the_schema_would_have_found_a_wrong_word(self):
        self.need("jsonschema", "kernel_tuner")
        import jsonschema
        document = json.loads(self.export("t4", "gemm"))
        document["results"][0]["invalidity"] = "pruned"
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(document, self.schema("results"))

    def test_csv_and_json_lines_tell_the_same(self):
        rows = list(csv.DictReader(io.StringIO(self.export("csv"))))
        lines = [json.loads(line) for line in self.export("jsonl").splitlines()]
        self.assertEqual(len(rows), len(lines))
        self.assertGreater(len(rows), 1000)
        for row, line in zip(rows, lines):
            self.assertEqual(row["shape_key"], line["shape_key"])
            self.assertEqual(row["config"], line["config"])
            if line["time_ns"] is not None:
                self.assertEqual(float(row["time_ns"]), line["time_ns"])
                self.assertEqual(int(row["rounds"]), len(line["rounds_ns"]))
            for name, value in line["dims"].items():
                self.assertEqual(int(row[f"dim_{name}"]), value)
            for name, value in line["parameters"].items():
                self.assertEqual(int(row[f"parameter_{name}"]), value)

    def compare(self, *arguments):
        self.need("numpy", "scipy", files=[COMPARE])
        done = subprocess.run([sys.executable, COMPARE, *map(str, arguments)], capture_output=True, text=True,
                              timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_compare_reads_two_exports(self):
        before, after = self.folder / "before.json", self.folder / "after.json"
        before.write_text(self.export("google-benchmark", "softmax"))
        faster = json.loads(before.read_text())
        for entry in faster["benchmarks"]:
            entry["real_time"] /= 2
        after.write_text(json.dumps(faster))
        out = self.compare("--no-color", "benchmarks", before, after)
        self.assertIn("softmax/", out)
        self.assertIn("-0.5000", out)
        self.assertIn("OVERALL_GEOMEAN", out)

    def test_compare_sets_winners_against_the_base_in_one_file(self):
        file = self.folder / "one.json"
        file.write_text(self.export("google-benchmark", "softmax"))
        out = self.compare("--no-color", "filters", file, "winner", "base")
        self.assertIn("[winner vs. base]", out)

    def test_compare_reads_a_run_of_bench(self):
        files = [self.folder / "first.json", self.folder / "second.json"]
        for file in files:
            program("bench", "shift", "rows=2", "cols=33", "--ops", OPS, "--device", "cpu", "--cache",
                    self.folder / "none.db",
                    "--benchmark_min_time=0.002", "--benchmark_repetitions=3", f"--benchmark_out={file}")
        out = self.compare("--no-color", "benchmarks", *files)
        self.assertIn("shift/f32/act:none/rows:2/cols:33/cold/base/manual_time_pvalue", out)

    def test_compare_sets_a_run_of_bench_against_an_export(self):
        cache, before, after = (self.folder / name for name in ("swept.db", "exported.json", "run.json"))
        on_ops = ["--ops", OPS, "--cache", cache]
        program("sweep", "shift", "rows=2", "cols=33", "--device", "cpu", "--config", "rowwise{variant=0,width=32}",
                "--budget-ms", "5",
                "--no-ceilings", *on_ops)
        program("export", "--google-benchmark", before, "shift", *on_ops)
        program("bench", "shift", "--device", "cpu", "--benchmark_min_time=0.002", f"--benchmark_out={after}", *on_ops)
        for file in (before, after):
            for entry in json.loads(file.read_text())["benchmarks"]:
                self.assertEqual(entry["cpu_time"], entry["real_time"], "both are the device's")
        out = self.compare("--no-color", "benchmarks", before, after)
        changes = re.search(r"cold/winner/manual_time +(\S+) +(\S+)", out)
        self.assertIsNotNone(changes, out)
        self.assertEqual(changes[1], changes[2], "of time and CPU")


if __name__ == "__main__":
    unittest.main()
