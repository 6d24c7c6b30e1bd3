#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package with torch on a GPU: python3 python/python_gpu_test.py in a bundle. The cache is
$TILEWRIGHT_CACHE, else the shipped winners, imported by the bundle's program. Without torch or a GPU every test is
skipped, and says so. Of each op $TILEWRIGHT_DRAWN_SHAPES (40) drawn shapes are launched."""
import collections
import dataclasses
import functools
import importlib.util
import math
import os
import pathlib
import random
import subprocess
import tempfile
import threading
import time
import typing
import unittest

try:
    import torch
    WHY_NOT = None if torch.cuda.is_available() else "there is no GPU"
except ImportError:
    WHY_NOT = "there is no torch"

import tilewright

EPS = 1e-6


@functools.cache
def cache():
    if os.environ.get("TILEWRIGHT_CACHE"):
        return os.environ["TILEWRIGHT_CACHE"]
    bundle = pathlib.Path(tilewright.__file__).resolve().parents[2]
    program = os.environ.get("TILEWRIGHT_PROGRAM", bundle / "bin" / "tilewright")
    winners = os.environ.get("TILEWRIGHT_WINNERS",
                             bundle / "share" / "tilewright" / "kernels" / "winners" / "nvidia-h200.db")
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    path = pathlib.Path(folder.name) / "cache.db"
    subprocess.run([program, "import", winners, "--cache", path], check=True, capture_output=True)
    # Winners of strided rows and of this gemm are not shipped. Without NVRTC this fails, and the tests of them are
    # skipped.
    for problem in (["softmax", "rows=256", "cols=1024", "pitch=strided"], ["gemm", "m=512", "n=512", "k=512"]):
        subprocess.run([program, "sweep", *problem, "dtype=bf16", "--max-configs", "4", "--budget-ms", "5",
                        "--no-ceilings",
                        "--quiet", "--cache", path], check=False, capture_output=True)
    return path


@unittest.skipIf(WHY_NOT, WHY_NOT)
class GpuTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(1)
        cls.x = torch.randn(512, 4096, device="cuda").bfloat16()
        cls.launcher = tilewright.Launcher(cache(), misses="off")
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
                self.__cuda_array_interface__ = {"shape": tuple(tensor.shape), "typestr": "<V2", "strides": None,
                                                 "version": 3,
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


@dataclasses.dataclass(frozen=True)
class Drawn:
    """An op as it is called at drawn shapes, and what it computes of its inputs in float64. The shortest and the
    longest that a dim may be."""

    bounds: tuple[tuple[int, int], ...]
    inputs: typing.Callable
    expected: typing.Callable
    scalars: tuple[float, ...] = ()
    attributes: typing.Mapping[str, str] = dataclasses.field(default_factory=dict)


functional = None if WHY_NOT else torch.nn.functional
ROWS = ((1, 16384), (8, 65536))
DRAWN = {
    "softmax": Drawn(ROWS, lambda rows, cols: [(rows, cols)], lambda x: torch.softmax(x, 1)),
    "rmsnorm": Drawn(ROWS, lambda rows, cols: [(rows, cols), (cols,)],
                     lambda x, weight: functional.rms_norm(x, weight.shape, weight, EPS), (EPS,)),
    "layernorm": Drawn(ROWS, lambda rows, cols: [(rows, cols), (cols,), (cols,)],
                       lambda x, weight, bias: functional.layer_norm(x, weight.shape, weight, bias, EPS), (EPS,)),
    "add_rmsnorm": Drawn(ROWS, lambda rows, cols: [(rows, cols), (rows, cols), (cols,)],
                         lambda x, residual, weight: functional.rms_norm(x + residual, weight.shape, weight, EPS),
                         (EPS,),
                         {"store": "no"}),
    "swiglu": Drawn(ROWS, lambda rows, cols: [(rows, cols), (rows, cols)], lambda gate, up: functional.silu(gate) * up,
                    attributes={"layout": "split"}),
    "bias_act": Drawn(ROWS, lambda rows, cols: [(rows, cols), (cols,)],
                      lambda x, bias: functional.gelu(x + bias, approximate="tanh"), attributes={"act": "gelu"}),
    "gemm": Drawn(((1, 4096), (16, 8192), (16, 8192)), lambda m, n, k: [(m, k), (n, k)], lambda a, b: a @ b.T,
                  attributes={"layout": "nt"}),
}
COUNT = int(os.environ.get("TILEWRIGHT_DRAWN_SHAPES", "40"))
MOST_ELEMENTS = 1 << 25
# The ratio of the error's norm to the result's, in bf16; rounding alone makes 0.0017.
MOST_ERROR = 4e-3


def drawn_shapes(bounds, count, seed=1):
    """Evenly over the logarithms; two of three long dims are multiples of 8, as most that applications have are."""
    numbers = random.Random(seed)
    shapes = []
    while len(shapes) < count:
        shape = [round(2 ** numbers.uniform(math.log2(low), math.log2(high))) for low, high in bounds]
        shape = [length // 8 * 8 if length >= 64 and numbers.random() < 2 / 3 else length for length in shape]
        if shape[0] * shape[1] <= MOST_ELEMENTS:
            shapes.append(tuple(shape))
    return shapes


@unittest.skipIf(WHY_NOT, WHY_NOT)
class DrawnShapes(unittest.TestCase):
    """Whatever is served at shapes that nobody tuned is launched without an error and right."""

    JIT = False

    @classmethod
    def setUpClass(cls):
        torch.manual_seed(1)

    def test_softmax(self):
        self.check("softmax")

    def test_rmsnorm(self):
        self.check("rmsnorm")

    def test_layernorm(self):
        self.check("layernorm")

    def test_add_rmsnorm(self):
        self.check("add_rmsnorm")

    def test_swiglu(self):
        self.check("swiglu")

    def test_bias_act(self):
        self.check("bias_act")

    def test_gemm(self):
        self.check("gemm")

    def check(self, name):
        drawn = DRAWN[name]
        shapes = drawn_shapes(drawn.bounds, COUNT)
        with tilewright.Launcher(cache(), misses="off", jit=self.JIT) as launcher:
            try:
                op = launcher.op(name, dtype="bf16", **drawn.attributes)
            except tilewright.UsageError as error:
                self.skipTest(str(error))
            if not op.match(*shapes[0]):
                self.skipTest(f"the cache has no {name} in bf16 for this GPU; sweep it and name the cache")
            self.check_all(name, op, shapes)
            # Its launches have ended before it closes.
            torch.cuda.synchronize()

    def check_all(self, name, op, shapes):
        fits = collections.Counter(op.match(*shape).fit for shape in shapes)
        worst = max(self.error_of(DRAWN[name], op, shape) for shape in shapes)
        print(f"\n{name}: {len(shapes)} drawn shapes, {dict(fits)}, norm of the error {worst:.2g} at most", end=" ")

    def error_of(self, drawn, op, shape):
        error = math.nan
        with self.subTest(shape=shape, served=op.match(*shape).config):
            inputs = [torch.randn(*extents, device="cuda", dtype=torch.bfloat16) for extents in drawn.inputs(*shape)]
            y = torch.full(shape[:2], math.nan, device="cuda", dtype=torch.bfloat16)
            op(*inputs, y, *drawn.scalars)
            expected = drawn.expected(*(each.double() for each in inputs))
            error = float((y.double() - expected).norm() / expected.norm())
            # Nor if a value is NaN.
            self.assertLessEqual(error, MOST_ERROR)
        return error


class DrawnShapesCompiled(DrawnShapes):
    """The same with a launcher that compiles what it wants, before and after that serves."""

    JIT = True
    SECONDS = 60

    def check_all(self, name, op, shapes):
        super().check_all(name, op, shapes)
        compiled = self.wait_for_compiler(op, shapes)
        if compiled:
            super().check_all(name, op, compiled)
        print(f"(compiled: {len(compiled)})", end=" ")

    def wait_for_compiler(self, op, shapes):
        """Those that a config serves which was compiled for them, once nothing is wanted any more or the time is
        over."""
        deadline = time.monotonic() + self.SECONDS
        while True:
            found = {shape: op.match(*shape).json for shape in shapes}
            errors = {json["compile_error"] for json in found.values() if "compile_error" in json}
            if any(error.startswith("NVRTC cannot be used") for error in errors):
                self.skipTest(f"nothing can be compiled: {errors.pop()}")
            self.assertFalse(errors)
            waiting = sum("wanted" in json for json in found.values())
            if not waiting or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        if waiting:
            print(f"\n{op.spec}: {waiting} of {len(shapes)} were not compiled in {self.SECONDS} s", end=" ")
        return [shape for shape, json in found.items() if json.get("compiled")]


if __name__ == "__main__":
    unittest.main(verbosity=2)
