#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package with torch on a GPU: python3 python/python_gpu_test.py in a bundle. The cache is $TILEWRIGHT_CACHE, else the
shipped winners, imported by the bundle's program. Without torch or a GPU every test is skipped, and says so."""
import importlib.util
import os
import pathlib
import subprocess
import tempfile
import threading
import time
import unittest

try:
    import torch
    WHY_NOT = None if torch.cuda.is_available() else "there is no GPU"
except ImportError:
    WHY_NOT = "there is no torch"

import tilewright

EPS = 1e-6


def cache(folder):
    if os.environ.get("TILEWRIGHT_CACHE"):
        return os.environ["TILEWRIGHT_CACHE"]
    bundle = pathlib.Path(tilewright.__file__).resolve().parents[2]
    program = os.environ.get("TILEWRIGHT_PROGRAM", bundle / "bin" / "tilewright")
    winners = os.environ.get("TILEWRIGHT_WINNERS", bundle / "share" / "tilewright" / "kernels" / "winners" / "nvidia-h200.db")
    path = pathlib.Path(folder) / "cache.db"
    subprocess.run([program, "import", winners, "--cache", path], check=True, capture_output=True)
    # Of strided rows none are shipped. Without NVRTC this fails, and the test of them is skipped.
    subprocess.run([program, "sweep", "softmax", "rows=256", "cols=1024", "pitch=strided", "dtype=bf16", "--max-configs", "2",
                    "--budget-ms", "5", "--no-ceilings", "--quiet", "--cache", path], check=False, capture_output=True)
    return path


@unittest.skipIf(WHY_NOT, WHY_NOT)
class GpuTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        torch.manual_seed(1)
        cls.x = torch.randn(512, 4096, device="cuda").bfloat16()
        cls.launcher = tilewright.Launcher(cache(cls.folder.name), misses="off")
        cls.rmsnorm = cls.launcher.op("rmsnorm", dtype=torch.bfloat16)
        cls.weight = torch.randn(4096, device="cuda").bfloat16()
        if not cls.rmsnorm.match(512, 4096):
            raise unittest.SkipTest("the cache has nothing for this GPU; sweep rmsnorm and softmax in bf16 and name it")

    def close_to(self, y, expected):
        torch.testing.assert_close(y.double(), expected, atol=1e-3, rtol=8e-3)

    def reference(self, x):
        return torch.nn.functional.rms_norm(x.double(), (x.shape[-1],), self.weight[: x.shape[-1]].double(), EPS)


class Results(GpuTest):
    def test_results_are_torchs(self):
        for shape in ((512, 4096), (8, 64, 4096), (1, 4096), (3, 4096)):
            x = torch.randn(shape, device="cuda").bfloat16()
            y = torch.empty_like(x)
            self.rmsnorm(x, self.weight, y, EPS)
            self.close_to(y, self.reference(x))

    def test_results_are_torchs_at_shapes_and_addresses_never_tuned(self):
        for cols in (4095, 1001, 8):
            x = torch.randn(37 * cols + 1, device="cuda").bfloat16()[1:].view(37, cols)
            y = torch.empty(37, cols, device="cuda", dtype=torch.bfloat16)
            self.rmsnorm(x, self.weight[:cols], y, EPS)
            self.close_to(y, self.reference(x))

    def test_parameters_are_tensors(self):
        y = torch.empty_like(self.x)
        self.rmsnorm(self.x, torch.nn.Parameter(self.weight), y, EPS)
        self.close_to(y, self.reference(self.x))

    def test_in_place(self):
        x = self.x.clone()
        self.rmsnorm(x, self.weight, x, EPS)
        self.close_to(x, self.reference(self.x))

    def test_slices_have_the_pitch_of_what_they_are_of(self):
        packed = torch.randn(256, 3 * 1024, device="cuda").bfloat16()
        y = torch.empty(256, 1024, device="cuda", dtype=torch.bfloat16)
        strided = self.launcher.op("softmax", dtype="bf16", pitch="strided")
        if not strided.match(256, 1024):
            self.skipTest("the cache has no softmax of strided rows")
        strided(packed[:, 1024:2048], y)
        self.close_to(y, torch.softmax(packed[:, 1024:2048].double(), 1))

    def test_other_threads_launch_too(self):
        ys = [torch.empty_like(self.x) for _ in range(4)]
        threads = [threading.Thread(target=self.rmsnorm, args=(self.x, self.weight, y, EPS)) for y in ys]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for y in ys:
            self.close_to(y, self.reference(self.x))


class Streams(GpuTest):
    def test_the_current_stream_is_used(self):
        # A launch on any other stream would read before the sleep has ended and the copy is done.
        stream, x, y = torch.cuda.Stream(), torch.zeros_like(self.x), torch.empty_like(self.x)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(50_000_000)
            x.copy_(self.x)
            self.rmsnorm(x, self.weight, y, EPS)
        stream.synchronize()
        self.close_to(y, self.reference(self.x))

    def test_a_stream_may_be_passed(self):
        stream, y = torch.cuda.Stream(), torch.empty_like(self.x)
        torch.cuda.synchronize()
        for chosen in (stream, stream.cuda_stream):
            y.zero_()
            torch.cuda.synchronize()
            self.rmsnorm(self.x, self.weight, y, EPS, stream=chosen)
            stream.synchronize()
            self.close_to(y, self.reference(self.x))

    def test_launches_are_captured_into_graphs_the_first_of_a_shape_too(self):
        x, y = self.x[:7].clone(), torch.empty_like(self.x[:7])
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.rmsnorm(x, self.weight, y, EPS)
        x.copy_(self.x[7:14])
        y.zero_()
        graph.replay()
        self.close_to(y, self.reference(self.x[7:14]))

    def test_tensors_of_another_gpu_are_served_there(self):
        if torch.cuda.device_count() < 2:
            self.skipTest("there is one GPU")
        x, y = self.x.to("cuda:1"), torch.empty_like(self.x, device="cuda:1")
        self.rmsnorm(x, self.weight.to("cuda:1"), y, EPS)
        self.close_to(y.to("cuda:0"), self.reference(self.x))
        self.assertEqual(torch.cuda.current_device(), 0)


class Refusals(GpuTest):
    def refused(self, text, *args):
        with self.assertRaisesRegex(tilewright.UsageError, text):
            self.rmsnorm(*args)

    def test_wrong_tensors_are_refused(self):
        x, y, w = self.x, torch.empty_like(self.x), self.weight
        self.refused("'x': it is on cpu", x.cpu(), w, y, EPS)
        self.refused("'x' has elements of f32", x.float(), w, y, EPS)
        self.refused("'weight' has the extent 4095", x, w[:4095].clone(), y, EPS)
        self.refused("'x' of shape .* is not contiguous", x.t().contiguous().t(), w, y, EPS)
        self.refused("pitch='strided'", x[:, :2048], w[:2048], y[:, :2048].contiguous(), EPS)
        self.refused("takes 4 arguments", x, w, y)
        self.refused("'eps' is a scalar of type f32", x, w, y, "small")
        self.rmsnorm(x, w, y, EPS)
        self.close_to(y, self.reference(x))


class Protocols(GpuTest):
    def test_array_interface_and_dlpack(self):
        class Interface:
            def __init__(self, tensor):
                self.__cuda_array_interface__ = {"shape": tuple(tensor.shape), "typestr": "<V2", "strides": None, "version": 3,
                                                 "data": (tensor.data_ptr(), False)}

        class Capsule:
            def __init__(self, tensor):
                self.__dlpack__, self.__dlpack_device__ = tensor.__dlpack__, tensor.__dlpack_device__

        for wrap in (Interface, Capsule):
            y = torch.zeros_like(self.x)
            self.rmsnorm(wrap(self.x), wrap(self.weight), wrap(y), EPS)
            self.close_to(y, self.reference(self.x))

    def test_cupy(self):
        if importlib.util.find_spec("cupy") is None:
            self.skipTest("there is no cupy")
        import cupy
        softmax = self.launcher.op("softmax", dtype="f32")
        if not softmax.match(256, 1024):
            self.skipTest("the cache has no softmax in f32")
        x = cupy.random.default_rng(1).standard_normal((256, 1024), dtype=cupy.float32)
        y = cupy.empty_like(x)
        softmax(x, y)
        torch.testing.assert_close(torch.from_dlpack(y), torch.softmax(torch.from_dlpack(x), 1), atol=1e-6, rtol=1e-5)


class Cost(GpuTest):
    def test_host_time_of_a_call(self):
        """Prints it beside torch's own of an op with as many tensors."""
        x, y = self.x[:8], torch.empty_like(self.x[:8])

        def nanoseconds(call):
            times = []
            for _ in range(50):
                torch.cuda.synchronize()
                began = time.perf_counter_ns()
                for _ in range(100):
                    call()
                times.append((time.perf_counter_ns() - began) / 100)
            return sorted(times)[len(times) // 2]

        ours = nanoseconds(lambda: self.rmsnorm(x, self.weight, y, EPS))
        torchs = nanoseconds(lambda: torch.add(x, self.weight, out=y))
        print(f"\nhost time of a call: tilewright's rmsnorm {ours:.0f} ns, torch.add(out=) {torchs:.0f} ns")
        self.assertLess(ours, 100_000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
