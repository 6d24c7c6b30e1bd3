# SPDX-License-Identifier: Apache-2.0
"""Calls with arrays: what reaches the kernel, and what is refused before."""
import ctypes
import threading
import time
import unittest

import tilewright
from recording import ADDRESS, DRIVER, Array, LaunchTest


class Call(LaunchTest):
    def test_values_reach_the_kernel_in_the_definitions_order(self):
        self.scale(Array((8, 64)), Array((8, 64), address=ADDRESS + 512), 0.5)
        launch = self.only_launch()
        self.assertEqual(launch.symbol, b"wide_symbol")
        self.assertEqual([launch.param(i) for i in (0, 1, 3, 4)], [ADDRESS + 256, ADDRESS + 512, 8, 64])
        self.assertEqual(launch.param(2, ctypes.c_float), 0.5)
        self.assertIsNone(launch.stream)

    def test_leading_extents_are_rows(self):
        self.scale(Array((2, 4, 64)), Array((8, 64)), 1)
        self.assertEqual(self.only_launch().param(3), 8)
        self.assertEqual(self.scale.dims(Array((2, 4, 64)), Array((8, 64)), 1), {"rows": 8, "cols": 64})

    def test_addresses_choose_the_config_of_each_call(self):
        for offset in (256, 2, 256):
            self.scale(Array((8, 64), address=ADDRESS + offset), Array((8, 64)), 1)
        self.assertEqual([launch.symbol for launch in DRIVER.launches()],
                         [b"wide_symbol", b"plain_symbol", b"wide_symbol"])

    def test_strides_that_are_dense_are_taken(self):
        self.scale(Array((8, 64), strides=(128, 2)), Array((8, 1, 64), strides=(128, 6, 2)), 1)
        self.only_launch()

    def test_dims_may_be_given(self):
        self.scale(Array((512,)), Array((512,)), 1, dims=(8, 64))
        self.assertEqual(self.only_launch().param(4), 64)

    def test_wrong_numbers_of_arguments_are_refused_with_their_names(self):
        self.refused("takes 3 arguments (x, y, factor); the call passes 2", self.scale, Array((8, 64)), Array((8, 64)))
        self.refused("the call passes 0", self.scale)

    def test_other_dtypes_are_refused(self):
        self.refused("'y' has elements of f32; the op takes f16", self.scale, Array((8, 64)), Array((8, 64), "<f4"), 1)
        self.refused("'x' has elements of >f2", self.scale, Array((8, 64), ">f2"), Array((8, 64)), 1)
        self.refused("'x' has elements of <c8", self.scale, Array((8, 64), "<c8"), Array((8, 64)), 1)

    def test_shapes_that_disagree_are_refused(self):
        self.refused("'y' has the extent 32 where [rows, cols] needs 64, with rows=8 from 'x', cols=64 from 'x'",
                     self.scale, Array((8, 64)), Array((8, 32)), 1)
        self.refused("'x' has the extents [64]; it needs 2 of them", self.scale, Array((64,)), Array((8, 64)), 1)
        self.refused("dim 'rows' is 0", self.scale, Array((0, 64)), Array((0, 64)), 1)

    def test_tensors_that_are_not_contiguous_are_refused_with_advice(self):
        self.refused("'x' of shape (8, 64) is not contiguous: its strides are (1, 8)", self.scale,
                     Array((8, 64), strides=(2, 16)), Array((8, 64)), 1)
        strided = self.launcher.op("strided", dtype="f16")
        self.refused("opened for with pitch='strided'", strided, Array((8, 64), strides=(256, 2)), Array((8, 64)), 1)
        self.refused("are not whole elements", self.scale, Array((8, 64), strides=(129, 2)), Array((8, 64)), 1)

    def test_outputs_that_are_read_only_are_refused(self):
        self.scale(Array((8, 64), readonly=True), Array((8, 64)), 1)
        DRIVER.functions.recording_reset()
        self.refused("'y' is written by the op", self.scale, Array((8, 64)), Array((8, 64), readonly=True), 1)

    def test_what_is_no_tensor_is_refused(self):
        self.refused("'y': list is no tensor of a GPU", self.scale, Array((8, 64)), [1, 2], 1)
        self.refused("'x': NoneType is no tensor", self.scale, None, Array((8, 64)), 1)
        self.refused("'x': it is masked", self.scale, Array((8, 64), mask=Array((8, 64))), Array((8, 64)), 1)

    def test_addresses_that_are_null_or_misaligned_are_refused(self):
        self.refused("the address of the argument 'x' is null", self.scale, Array((8, 64), address=0), Array((8, 64)),
                     1)
        self.refused("must be aligned to 2 bytes", self.scale, Array((8, 64), address=ADDRESS + 1), Array((8, 64)), 1)

    def test_scalars_of_another_type_are_refused(self):
        for value in ("a", None, [1], 1j):
            self.refused("'factor' is a scalar of type f32", self.scale, Array((8, 64)), Array((8, 64)), value)
        self.refused("'factor' is a scalar of type f32; the call passes 1e+300", self.scale, Array((8, 64)),
                     Array((8, 64)),
                     1e300)

    def test_a_call_that_was_refused_leaves_the_next_one_right(self):
        for _ in range(3):
            with self.assertRaises(tilewright.UsageError):
                self.scale(Array((8, 64)), Array((8, 64)), "a")
        self.scale(Array((8, 64)), Array((8, 64)), 2)
        self.assertEqual(self.only_launch().param(2, ctypes.c_float), 2)

    def test_a_failed_call_of_the_driver_is_a_device_error(self):
        self.scale(Array((8, 64)), Array((8, 64)), 1)
        DRIVER.functions.recording_reset()
        DRIVER.functions.recording_fail(b"cuLaunchKernelEx", 719, 0, 1)
        self.refused("cuLaunchKernelEx", self.scale, Array((8, 64)), Array((8, 64)), 1, kind=tilewright.DeviceError)
        self.scale(Array((8, 64)), Array((8, 64)), 1)
        self.only_launch()

    def test_no_current_context_is_a_device_error(self):
        DRIVER.use(None)
        self.refused("no CUDA context is current", self.scale, Array((8, 64)), Array((8, 64)), 1,
                     kind=tilewright.DeviceError)

    def test_what_the_cache_cannot_serve_is_no_match(self):
        self.refused("scale[dtype=f32", self.launcher.op("scale", dtype="f32"), Array((8, 64), "<f4"),
                     Array((8, 64), "<f4"),
                     1, kind=tilewright.NoMatchError)

    def test_threads_do_not_mix_their_values(self):
        def work(number):
            DRIVER.use(0)
            for _ in range(200):
                self.scale(Array((8, 64), address=ADDRESS + 256 * number),
                           Array((8, 64), address=ADDRESS + 512 * number),
                           number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        launches = DRIVER.launches()
        self.assertEqual(len(launches), 800)
        for launch in launches:
            number = launch.param(2, ctypes.c_float)
            self.assertEqual([launch.param(0), launch.param(1)], [ADDRESS + 256 * number, ADDRESS + 512 * number])

    def test_a_call_costs_microseconds(self):
        x, y = Array((8, 64)), Array((8, 64))
        self.scale(x, y, 1)
        DRIVER.functions.recording_set_fast(1)
        self.addCleanup(DRIVER.functions.recording_set_fast, 0)
        times = []
        for _ in range(300):
            began = time.perf_counter_ns()
            for _ in range(20):
                self.scale(x, y, 1)
            times.append((time.perf_counter_ns() - began) / 20)
        print(f"a call with two arrays: {min(times):.0f} ns")
        self.assertLess(min(times), 100_000)


class Pitch(LaunchTest):
    def setUp(self):
        super().setUp()
        self.strided = self.launcher.op("strided", dtype="f16", pitch="strided")

    @staticmethod
    def output(shape, strides=None):
        return Array(shape, strides=strides, address=ADDRESS + 8192)

    def pitches(self, x, y):
        self.strided(x, y, 1)
        launch = DRIVER.launches()[-1]
        return launch.param(5), launch.param(6)

    def test_pitches_are_read_from_the_strides(self):
        self.assertEqual(self.pitches(Array((8, 64), strides=(256, 2)), self.output((8, 64))), (128, 64))
        self.assertEqual(self.pitches(Array((2, 4, 64), strides=(1024, 256, 2)), self.output((8, 64), (160, 2))),
                         (128, 80))

    def test_a_pitch_counts_as_an_address_does(self):
        self.strided(Array((8, 64), strides=(130, 2)), self.output((8, 64)), 1)
        self.assertEqual(self.only_launch().symbol, b"plain_symbol")

    def test_one_row_is_as_well_aligned_as_can_be(self):
        self.assertEqual(self.pitches(Array((1, 64), strides=(130, 2)), self.output((1, 64))), (128, 128))

    def test_rows_that_do_not_lie_evenly_apart_are_refused(self):
        for strides in ((2, 16), (256, 4)):
            self.refused("its rows must have no gaps", self.strided, Array((8, 64), strides=strides), Array((8, 64)), 1)
        self.refused("lie evenly apart", self.strided, Array((2, 4, 64), strides=(2048, 256, 2)), Array((8, 64)), 1)

    def test_in_place_the_pitches_must_be_equal(self):
        x = Array((8, 64), strides=(256, 2))
        self.assertEqual(self.pitches(x, x), (128, 128))
        DRIVER.functions.recording_reset()
        self.refused("in place they must be equal", self.strided, x, Array((8, 64)), 1)

    def test_rows_that_overlap_are_refused(self):
        self.refused("less than a row's 64 elements", self.strided, Array((8, 64), strides=(0, 2)), Array((8, 64)), 1)


class Strides(LaunchTest):
    def setUp(self):
        super().setUp()
        self.packed = self.launcher.op("packed")

    @staticmethod
    def output(strides=None):
        return Array((2, 3, 5, 8), strides=strides, address=ADDRESS + 8192)

    def strides(self, x, y):
        self.packed(x, y)
        launch = DRIVER.launches()[-1]
        return tuple(launch.param(i) for i in range(2, 8))

    def test_strides_are_read_from_the_tensors(self):
        self.assertEqual(self.strides(Array((2, 3, 5, 8)), self.output()), (120, 40, 8, 120, 40, 8))
        self.assertEqual(self.strides(Array((2, 3, 5, 8), strides=(720, 240, 16, 2)), self.output((240, 16, 48, 2))),
                         (360, 120, 8, 120, 8, 24))

    def test_of_an_extent_of_one_the_stride_is_that_of_a_dense_tensor(self):
        x = Array((2, 1, 5, 8), strides=(720, 2, 16, 2))
        self.packed(x, Array((2, 1, 5, 8), address=ADDRESS + 8192))
        self.assertEqual(self.only_launch().param(3), 40)

    def test_rows_with_gaps_and_other_ranks_are_refused(self):
        self.refused("elements of the last extent must be neighbours", self.packed,
                     Array((2, 3, 5, 8), strides=(480, 160, 32, 4)), self.output())
        self.refused("the op takes 4 extents", self.packed, Array((1, 2, 3, 5, 8)), self.output())

    def test_elements_that_overlap_are_refused(self):
        self.refused("'x_token', a stride of 'x', is 0", self.packed, Array((2, 3, 5, 8), strides=(240, 0, 16, 2)),
                     self.output())


class Buckets(LaunchTest):
    def test_a_call_of_any_extent_is_served_by_its_bucket(self):
        ragged = self.launcher.op("ragged")
        self.assertIn("{tokens=128,heads=3,d=8}", ragged.match(tokens=100, heads=3, d=8).json["problem"])
        ragged(Array((100, 3, 8)), Array((100, 3, 8), address=ADDRESS + 8192))
        self.assertEqual(self.only_launch().param(2), 100)


class Streams(LaunchTest):
    def launched_on(self, **named):
        self.scale(Array((8, 64), stream=named.pop("of_x", None)), Array((8, 64)), 1, **named)
        return DRIVER.launches()[-1].stream

    def test_a_stream_may_be_a_number_or_an_object(self):
        stream = DRIVER.new_stream()
        self.assertEqual(self.launched_on(stream=stream), stream)
        for name in ("cuda_stream", "ptr", "handle"):
            self.assertEqual(self.launched_on(stream=type("Stream", (), {name: stream})()), stream)
        self.assertEqual(self.launched_on(stream=type("Stream", (), {"handle": ctypes.c_void_p(stream)})()), stream)
        self.assertEqual(self.launched_on(stream=type("Stream", (), {"__cuda_stream__": lambda self: (0, stream)})()),
                         stream)
        self.assertIsNone(self.launched_on(stream=0))
        self.assertIsNone(self.launched_on(stream=type("Stream", (), {"handle": ctypes.c_void_p(0)})()))

    def test_what_is_no_stream_is_refused(self):
        for stream in ("fast", True, 1.5):
            self.refused("is no CUDA stream", self.scale, Array((8, 64)), Array((8, 64)), 1, stream=stream)

    def test_the_stream_that_arrays_name_is_the_default(self):
        stream = DRIVER.new_stream()
        self.assertEqual(self.launched_on(of_x=stream), stream)
        self.assertIsNone(self.launched_on(of_x=1))
        self.assertIsNone(self.launched_on(of_x=stream, stream=0))

    def test_arrays_of_two_streams_are_refused(self):
        self.refused("made on 2 streams", self.scale, Array((8, 64), stream=DRIVER.new_stream()),
                     Array((8, 64), stream=1), 1)


if __name__ == "__main__":
    unittest.main()
