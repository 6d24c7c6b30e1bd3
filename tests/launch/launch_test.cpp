// SPDX-License-Identifier: Apache-2.0
// The config of a launch, and its arguments.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using namespace tilewright::testing;

class LaunchTest : public LaunchFixture {
 protected:
  /// The only launch since the last reset.
  recording_launch_record only_launch() const {
    const auto launches = recording_.launches();
    EXPECT_EQ(launches.size(), 1U);
    return launches.empty() ? recording_launch_record{} : launches.back();
  }
  /// Launches; returns the threads of the block, which identify the config of `scale`.
  unsigned threads_after(const Op& op, void* x, void* y, const std::vector<std::int64_t>& dims = {8, 64}) const {
    recording_.reset();
    op(nullptr, dims, x, y, 1.0);
    return only_launch().block[0];
  }

  const Launcher launcher_{filled_cache()};
  const Op scale_ = launcher_.op("scale[dtype=f16]");
  void* x_ = fake_address(256);
  void* y_ = fake_address(1024);
};

TEST_F(LaunchTest, a_tuned_shape_gets_its_winner_and_the_callers_values) {
  const cuda::OwnedStream stream(driver_);
  scale_(stream.get(), {8, 64}, x_, y_, 2.5);
  const recording_launch_record launch = only_launch();
  EXPECT_STREQ(launch.symbol, "wide_symbol");
  EXPECT_EQ(launch.block[0], 64U);
  EXPECT_EQ(launch.grid[0], 8U);
  EXPECT_EQ(launch.shared_bytes, 16U);
  EXPECT_EQ(launch.stream, stream.get());
  EXPECT_EQ(param<void*>(launch, 0), x_);
  EXPECT_EQ(param<void*>(launch, 1), y_);
  EXPECT_EQ(param<float>(launch, 2), 2.5F);
  EXPECT_EQ(param<std::int64_t>(launch, 3), 8);
  EXPECT_EQ(param<std::int64_t>(launch, 4), 64);
}

TEST_F(LaunchTest, what_is_pinned_or_banned_is_followed_from_the_next_refresh_on) {
  EXPECT_EQ(threads_after(scale_, x_, y_), 64U);
  SampleCache people(cache_path());
  const auto decide = [&](PinKind kind, WinnerRole role, const std::string& reason) {
    for (const WinnerRow& row :
         people.store().list_winners({.op = "scale", .fingerprint = {}, .mode = {}, .role = role})) {
      ProblemKey key{row.problem, row.interface_hash, row.device.fingerprint()};
      key.problem.dims.clear();
      people.store().put_pin({{kind, {row.implementation_hash, row.winner.trial.config}, false, reason, 0}, key});
    }
    launcher_.refresh();
  };
  decide(PinKind::ban, WinnerRole::best, "gives NaN");
  EXPECT_EQ(threads_after(scale_, x_, y_), 128U) << "the dynamic one is the next";
  EXPECT_THAT(scale_.match({8, 64}).json, HasSubstr("gives NaN"));
  decide(PinKind::pin, WinnerRole::base, "same bits");
  EXPECT_EQ(threads_after(scale_, x_, y_), 256U);
  EXPECT_THAT(scale_.match({8, 64}).json, HasSubstr("\"pinned\":\"same bits\""));
  for (const WinnerRole role : {WinnerRole::dynamic, WinnerRole::base}) decide(PinKind::ban, role, "gives NaN");
  EXPECT_THAT(failure(TW_ERROR_NO_MATCH, [&] { scale_(nullptr, {8, 64}, x_, y_, 1.0); }), HasSubstr("gives NaN"));
  decide(PinKind::free, WinnerRole::best, "");
  EXPECT_EQ(threads_after(scale_, x_, y_), 64U);
}

TEST_F(LaunchTest, a_shape_never_tuned_gets_the_base) {
  scale_(nullptr, {3, 61}, x_, y_, 2.5);
  const recording_launch_record launch = only_launch();
  EXPECT_STREQ(launch.symbol, "plain_symbol");
  EXPECT_EQ(launch.block[0], 256U);
  EXPECT_EQ(launch.grid[0], 3U);
  EXPECT_EQ(param<std::int64_t>(launch, 4), 61);
}

TEST_F(LaunchTest, addresses_choose_among_the_configs_that_may_serve) {
  EXPECT_EQ(threads_after(scale_, x_, y_), 64U) << "the winner needs 16 bytes";
  EXPECT_EQ(threads_after(scale_, fake_address(16), y_), 64U);
  EXPECT_EQ(threads_after(scale_, fake_address(8), y_), 128U) << "the dynamic one needs 8";
  EXPECT_EQ(threads_after(scale_, x_, fake_address(8)), 128U);
  EXPECT_EQ(threads_after(scale_, fake_address(4), y_), 256U) << "the base needs an element's 2";
  EXPECT_EQ(threads_after(scale_, fake_address(2), fake_address(2)), 256U);
  EXPECT_EQ(threads_after(scale_, x_, y_), 64U) << "and the winner's place is kept";
}

TEST_F(LaunchTest, an_address_that_the_definition_forbids_is_an_error) {
  EXPECT_THAT(failure(TW_ERROR_USAGE,
                      [&] {
                        scale_(nullptr, {8, 64}, fake_address(1), y_, 1.0);
                      }),
              HasSubstr("the argument x must be aligned to 2 bytes, but is aligned to 1, by the definition of scale"));
}

TEST_F(LaunchTest, a_shape_is_resolved_once_for_a_context_and_alignment) {
  for (int i = 0; i < 3; ++i) scale_(nullptr, {8, 64}, x_, y_, 1.0);
  scale_(nullptr, {8, 64}, fake_address(128), y_, 1.0);
  EXPECT_EQ(recording_.calls("cuLibraryLoadData"), 1U);
  EXPECT_EQ(recording_.launches().size(), 4U);
}

TEST_F(LaunchTest, one_binary_is_loaded_once_for_all_shapes) {
  for (std::int64_t rows = 1; rows <= 5; ++rows) scale_(nullptr, {rows, 61}, x_, y_, 1.0);
  scale_(nullptr, {8, 64}, x_, y_, 1.0);
  EXPECT_EQ(recording_.calls("cuLibraryLoadData"), 1U);
}

TEST_F(LaunchTest, another_context_has_plans_of_its_own) {
  scale_(nullptr, {8, 64}, x_, y_, 1.0);
  const unsigned long long first = only_launch().context;
  recording_.reset_context(0);
  const cuda::PrimaryContext again(driver_, 0);
  scale_(nullptr, {8, 64}, x_, y_, 1.0);
  ASSERT_EQ(recording_.launches().size(), 2U) << "a function of the context that ended would have been refused";
  EXPECT_NE(recording_.launches()[1].context, first);
}

TEST_F(LaunchTest, preloading_leaves_nothing_to_load_at_the_first_launch) {
  scale_.preload({8, 64});
  EXPECT_EQ(recording_.calls("cuLibraryLoadData"), 1U);
  EXPECT_TRUE(recording_.launches().empty());
  scale_(nullptr, {8, 64}, x_, y_, 1.0);
  EXPECT_EQ(recording_.calls("cuKernelGetFunction"), 1U);
}

TEST_F(LaunchTest, several_kernels_run_in_order_with_their_maps) {
  const Op reduce = launcher_.op("reduce");
  reduce(nullptr, {100, 256}, x_, y_);
  const auto launches = recording_.launches();
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_STREQ(launches[0].symbol, "partial_symbol");
  EXPECT_EQ(launches[0].cluster[0], 2U);
  EXPECT_EQ(param<cuda::TensorMap>(launches[0], 0).words[0], reinterpret_cast<std::uintptr_t>(x_));
  EXPECT_STREQ(launches[1].symbol, "final_symbol");
  EXPECT_EQ(launches[1].pdl, 1);
  EXPECT_EQ(param<void*>(launches[1], 1), y_);
}

TEST_F(LaunchTest, a_launch_on_a_capturing_stream_becomes_part_of_the_graph) {
  const cuda::OwnedStream stream(driver_);
  const cuda::CapturedGraph graph(driver_, stream.get(), [&](cuda::Stream capturing) {
    scale_(capturing, {8, 64}, x_, y_, 3.0);
  });
  EXPECT_TRUE(recording_.launches().empty());
  graph.launch(stream.get());
  graph.launch(stream.get());
  const auto launches = recording_.launches();
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(param<float>(launches[1], 2), 3.0F);
}

TEST_F(LaunchTest, a_scalar_of_zero_is_no_null_address) {
  OpInterface interface = scale_interface();
  interface.op = "scalar_first";
  std::rotate(interface.args.begin(), interface.args.begin() + 2, interface.args.end());
  SampleCache(cache_path()).add_op(interface, scale_plain(), scale_kernels(), scale_binary());
  tw_op* op = nullptr;
  ASSERT_EQ(tw_op_get(launcher_.get(), "scalar_first[dtype=f16]", &op), TW_OK) << tw_last_error();
  const auto refused = [&](const std::array<void*, 3>& args) {
    const std::array<std::int64_t, 2> dims{8, 64};
    EXPECT_EQ(tw_launch(op, nullptr, dims.data(), 2, args.data(), 3), TW_ERROR_USAGE);
    return std::string(tw_last_error());
  };
  void* null = nullptr;
  // On the heap, so that sanitizers detect reads beyond its bytes.
  const auto zero = std::make_unique<float>(0.0F);
  EXPECT_THAT(refused({zero.get(), &x_, &null}), HasSubstr("the address of the argument 'y' is null"));
  EXPECT_THAT(refused({zero.get(), &null, &null}), HasSubstr("the address of the argument 'x' is null"));
  EXPECT_THAT(refused({nullptr, &x_, &null}), HasSubstr("the pointer to the value of the argument 'factor' is null"));
}

TEST_F(LaunchTest, wrong_arguments_are_named) {
  EXPECT_THAT(failure(TW_ERROR_USAGE,
                      [&] {
                        scale_(nullptr, {8, 64}, x_, nullptr, 1.0);
                      }),
              HasSubstr("scale[dtype=f16,round=no]: the address of the argument 'y' is null"));
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { scale_(nullptr, {8}, x_, y_, 1.0); }), HasSubstr("cols"));
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { scale_(nullptr, {8, 64, 2}, x_, y_, 1.0); }), HasSubstr("dims"));
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { scale_(nullptr, {8, 0}, x_, y_, 1.0); }), HasSubstr("cols"));
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { scale_(nullptr, {-8, 64}, x_, y_, 1.0); }), HasSubstr("rows"));
  EXPECT_TRUE(recording_.launches().empty());
  scale_(nullptr, {8, 64}, x_, y_, 1.0);
  EXPECT_EQ(recording_.launches().size(), 1U) << "and nothing is broken by it";
}

TEST_F(LaunchTest, a_grid_beyond_the_hardware_is_an_error_and_not_a_launch) {
  const std::int64_t rows = std::int64_t{1} << 33;
  EXPECT_THAT(failure(TW_ERROR_NO_MATCH,
                      [&] {
                        scale_(nullptr, {rows, 61}, x_, y_, 1.0);
                      }),
              HasSubstr("the grid of scale_plain"));
  const std::int64_t huge = std::int64_t{1} << 62;
  failure(TW_ERROR_USAGE, [&] { scale_(nullptr, {huge, huge}, x_, y_, 1.0); });
}

TEST_F(LaunchTest, a_thread_without_a_context_is_told_so) {
  ASSERT_EQ(driver_.table().ctx_set_current(nullptr), cuda::kSuccess);
  EXPECT_THAT(failure(TW_ERROR_DEVICE,
                      [&] {
                        scale_(nullptr, {8, 64}, x_, y_, 1.0);
                      }),
              HasSubstr("no CUDA context is current on this thread (CUDA_ERROR_INVALID_CONTEXT"));
  EXPECT_THAT(failure(TW_ERROR_DEVICE, [&] { scale_.preload({8, 64}); }), HasSubstr("no CUDA context is current"));
}

TEST_F(LaunchTest, a_spec_that_was_never_tuned_says_how_to_tune_it) {
  const Op bf16 = launcher_.op("scale[dtype=bf16]");
  EXPECT_THAT(failure(TW_ERROR_NO_MATCH,
                      [&] {
                        bf16(nullptr, {8, 64}, x_, y_, 1.0);
                      }),
              HasSubstr("no winner and no base for scale[dtype=bf16,round=no]{rows=8,cols=64} on Fictional GPU"));
  EXPECT_THAT(failure(TW_ERROR_NO_MATCH,
                      [&] {
                        bf16(nullptr, {8, 64}, x_, y_, 1.0);
                      }),
              HasSubstr("tilewright sweep \"scale[dtype=bf16,round=no]{rows=8,cols=64}\""));
}

TEST_F(LaunchTest, what_the_driver_refuses_is_reported_and_can_be_tried_again) {
  recording_.fail("cuLaunchKernelEx", 999);
  EXPECT_THAT(failure(TW_ERROR_DEVICE,
                      [&] {
                        scale_(nullptr, {8, 64}, x_, y_, 1.0);
                      }),
              HasSubstr("launching scale[dtype=f16,round=no]{rows=8,cols=64} failed: cuLaunchKernelEx: "
                        "CUDA_ERROR_UNKNOWN (999)"));
  scale_(nullptr, {8, 64}, x_, y_, 1.0);
  EXPECT_EQ(recording_.launches().size(), 1U);
}

TEST_F(LaunchTest, binaries_that_the_driver_rejects_are_reported_and_can_be_tried_again) {
  recording_.fail("cuLibraryLoadData", 200, 0, 3);
  EXPECT_THAT(failure(TW_ERROR_DEVICE,
                      [&] {
                        scale_(nullptr, {8, 64}, x_, y_, 1.0);
                      }),
              HasSubstr("loading wide{num_warps=2,vec=8,static_dims=1} of scale[dtype=f16,round=no]"))
      << "of the three configs that might serve, the best";
  scale_(nullptr, {8, 64}, x_, y_, 1.0);
  EXPECT_EQ(recording_.launches().size(), 1U);
}

TEST_F(LaunchTest, a_binary_that_lacks_its_kernel_gives_way_to_the_next) {
  recording_.fail("cuLibraryGetKernel", 500);
  scale_(nullptr, {8, 64}, x_, y_, 1.0);
  EXPECT_EQ(recording_.launches().at(0).block[0], 128U) << "the dynamic one's";
}

TEST_F(LaunchTest, a_launcher_preloads_shapes_so_that_their_first_launch_may_be_captured) {
  launcher_.preload("scale[dtype=f16]", {{8, 64}, {9, 64}, {9, 61}});
  const std::size_t loaded = recording_.calls("cuKernelGetFunction");
  for (const Shape& shape : {Shape{8, 64}, Shape{9, 64}, Shape{9, 61}}) scale_(nullptr, shape, x_, y_, 1.0);
  EXPECT_EQ(recording_.calls("cuKernelGetFunction"), loaded);
  EXPECT_EQ(recording_.launches().size(), 3U);
}

TEST_F(LaunchTest, an_op_outlives_its_launcher_object) {
  const auto open_and_forget = [&] { return Launcher(cache_path()).op("scale[dtype=f16]"); };
  const Op op = open_and_forget();
  op(nullptr, {8, 64}, x_, y_, 1.0);
  EXPECT_EQ(recording_.launches().size(), 1U);
}

}  // namespace
}  // namespace tilewright
