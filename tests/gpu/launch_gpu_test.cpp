// SPDX-License-Identifier: Apache-2.0
// The launch library on a real GPU: launches compute the right numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <optional>
#include <thread>
#include <tilewright/launch.hpp>

#include "cache/driver/cuda.hpp"
#include "cache/driver/driver_table.hpp"
#include "cache/driver/shared_library.hpp"
#include "cache/driver/stream.hpp"
#include "tests/gpu/launch_ptx.hpp"
#include "tests/launch/sample_cache.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using namespace tilewright::testing;

class LaunchGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    driver_ = cuda::Driver::find(&why);
    if (driver_ == nullptr) GTEST_SKIP() << why;
    if (driver_->device_count() == 0) GTEST_SKIP() << "there is no GPU";
    context_.emplace(*driver_, 0);
    device_ = driver_->facts(0);
    fill_cache();
    launcher_.emplace(path());
  }

  [[nodiscard]] std::string path() const { return (folder_.path() / "cache.db").string(); }

  void fill_cache() const {
    SampleCache cache(path());
    const SampleWinner base{.role = WinnerRole::base, .device = device_};
    cache.add_op(scale_interface(), scale_plain(), scale_kernels(), scale_ptx());
    cache.add_winner(scale_interface(), "scale[dtype=f32]{rows=8,cols=64}", "plain{num_warps=4}", base);
    cache.add_op(double_interface(), double_recipe(), double_kernels(), double_ptx());
    cache.add_winner(double_interface(), "double{n=64}", "two{}", base);
    cache.add_op(reduce_interface(), reduce_split(), reduce_kernels(), reduce_ptx());
    cache.add_winner(reduce_interface(), "reduce{m=64,k=256}", "split{split=16,block_m=32}", base);
  }

  [[nodiscard]] cuda::Buffer upload(const std::vector<float>& values) const {
    cuda::Buffer buffer(*driver_, values.size() * sizeof(float), "a test");
    driver_->call("copying", driver_->table().memcpy_htod, buffer.address(), static_cast<const void*>(values.data()),
                  buffer.bytes());
    // A copy from pageable memory may be unfinished when the call returns, and the streams do not wait for the null
    // stream.
    driver_->call("waiting for the copy", driver_->table().ctx_synchronize);
    return buffer;
  }
  [[nodiscard]] std::vector<float> download(const cuda::Buffer& buffer) const {
    context_->synchronize();
    std::vector<float> values(buffer.bytes() / sizeof(float));
    driver_->call("copying", driver_->table().memcpy_dtoh, static_cast<void*>(values.data()), buffer.address(),
                  buffer.bytes());
    return values;
  }
  static float* pointer(const cuda::Buffer& buffer) { return reinterpret_cast<float*>(buffer.address()); }
  static std::vector<float> counted(std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 1.0F);
    return values;
  }
  static std::vector<float> times(std::vector<float> values, float factor) {
    for (float& value : values) value *= factor;
    return values;
  }

  const cuda::Driver* driver_ = nullptr;
  DeviceFacts device_;
  TemporaryFolder folder_;
  std::optional<cuda::PrimaryContext> context_;
  std::optional<Launcher> launcher_;
};

TEST_F(LaunchGpuTest, computes_what_the_op_says_for_shapes_never_tuned) {
  const Op scale = launcher_->op("scale[dtype=f32]");
  const cuda::OwnedStream stream(*driver_);
  for (const auto& [rows, cols] : {std::pair{1, 1}, {3, 61}, {128, 1000}}) {
    const std::vector<float> values = counted(static_cast<std::size_t>(rows * cols));
    const cuda::Buffer x = upload(values);
    const cuda::Buffer y = upload(times(values, 0));
    scale(stream.get(), {rows, cols}, pointer(x), pointer(y), 1.5);
    EXPECT_EQ(download(y), times(values, 1.5F)) << rows << " x " << cols;
  }
}

TEST_F(LaunchGpuTest, works_in_place_and_at_odd_addresses) {
  const Op scale = launcher_->op("scale[dtype=f32]");
  const cuda::Buffer x = upload(counted(62));
  scale(nullptr, {1, 61}, pointer(x) + 1, pointer(x) + 1, 2);
  std::vector<float> expected = times(counted(62), 2);
  expected[0] = 1;
  EXPECT_EQ(download(x), expected);
}

TEST_F(LaunchGpuTest, the_driver_takes_clusters_tensor_maps_large_shared_memory_values_and_dependent_launches) {
  if (device_.compute_capability < 90) GTEST_SKIP() << "needs sm_90";
  const Op reduce = launcher_->op("reduce");
  const cuda::Buffer a = upload(counted(64 * 256));
  const cuda::Buffer y = upload(std::vector<float>(64));
  reduce(nullptr, {64, 256}, reinterpret_cast<void*>(a.address()), pointer(y));
  EXPECT_EQ(download(y), std::vector<float>(64, 16 + 4)) << "blocks in a cluster, and the value ceil_div(k, 64)";
}

TEST_F(LaunchGpuTest, workspaces_are_right_launch_after_launch) {
  const Op twice = launcher_->op("double");
  const cuda::OwnedStream stream(*driver_);
  for (const std::int64_t n : {1000, 10, 100'000, 1000}) {
    const std::vector<float> values = counted(static_cast<std::size_t>(n));
    const cuda::Buffer x = upload(values);
    const cuda::Buffer y = upload(values);
    for (int i = 0; i < 3; ++i) twice(stream.get(), {n}, pointer(x), pointer(y));
    ASSERT_EQ(download(y), times(values, 2)) << n;
  }
}

TEST_F(LaunchGpuTest, the_callers_workspace_is_used) {
  const Op twice = launcher_->op("double");
  const cuda::OwnedStream stream(*driver_);
  const cuda::Buffer memory(*driver_, twice.workspace_bytes({1000}), "a test");
  launcher_->set_workspace(stream.get(), reinterpret_cast<void*>(memory.address()), memory.bytes());
  const std::vector<float> values = counted(1000);
  const cuda::Buffer x = upload(values);
  const cuda::Buffer y = upload(values);
  for (int i = 0; i < 3; ++i) twice(stream.get(), {1000}, pointer(x), pointer(y));
  EXPECT_EQ(download(y), times(values, 2));
}

TEST_F(LaunchGpuTest, a_first_launch_can_be_captured) {
  const Op twice = launcher_->op("double");
  const cuda::OwnedStream stream(*driver_);
  const std::vector<float> values = counted(5000);
  const cuda::Buffer x = upload(values);
  const cuda::Buffer y = upload(values);
  // Nothing is loaded yet, no workspace is allocated, and the stream is in the strictest mode.
  constexpr int kGlobalMode = 0;
  ASSERT_EQ(driver_->table().stream_begin_capture(stream.get(), kGlobalMode), cuda::kSuccess);
  twice(stream.get(), {5000}, pointer(x), pointer(y));
  cuda::Graph graph = nullptr;
  ASSERT_EQ(driver_->table().stream_end_capture(stream.get(), &graph), cuda::kSuccess);
  cuda::GraphExec executable = nullptr;
  ASSERT_EQ(driver_->table().graph_instantiate(&executable, graph, 0), cuda::kSuccess);
  EXPECT_EQ(download(y), values) << "a captured launch does nothing yet";
  for (int i = 0; i < 3; ++i) ASSERT_EQ(driver_->table().graph_launch(executable, stream.get()), cuda::kSuccess);
  EXPECT_EQ(download(y), times(values, 2));
  driver_->table().graph_exec_destroy(executable);
  driver_->table().graph_destroy(graph);
}

TEST_F(LaunchGpuTest, a_first_launch_behind_a_preload_can_be_captured) {
  const Op twice = launcher_->op("double");
  twice.preload({5000});
  const cuda::OwnedStream stream(*driver_);
  const std::vector<float> values = counted(5000);
  const cuda::Buffer x = upload(values);
  const cuda::Buffer y = upload(values);
  const cuda::CapturedGraph graph(*driver_, stream.get(),
                                  [&](cuda::Stream to) { twice(to, {5000}, pointer(x), pointer(y)); });
  for (int i = 0; i < 3; ++i) graph.launch(stream.get());
  EXPECT_EQ(download(y), times(values, 2));
}

TEST_F(LaunchGpuTest, branches_of_one_captured_graph_have_workspaces_of_their_own) {
  SharedLibrary library("libcuda.so.1");
  auto* const wait_event = library.find<int(cuda::Stream, cuda::Event, unsigned)>("cuStreamWaitEvent");
  ASSERT_NE(wait_event, nullptr);
  const Op twice = launcher_->op("double");
  constexpr std::size_t kCount = 200'000;
  const std::vector<float> one = counted(kCount);
  const std::vector<float> two = times(one, -3);
  const cuda::Buffer x1 = upload(one), x2 = upload(two), y1 = upload(one), y2 = upload(two);
  const cuda::OwnedStream stream(*driver_), branch(*driver_);
  const cuda::OwnedEvent fork(*driver_), join(*driver_);
  const cuda::CapturedGraph graph(*driver_, stream.get(), [&](cuda::Stream trunk) {
    fork.record(trunk);
    ASSERT_EQ(wait_event(branch.get(), fork.get(), 0), cuda::kSuccess);
    for (int i = 0; i < 20; ++i) {
      twice(trunk, {kCount}, pointer(x1), pointer(y1));
      twice(branch.get(), {kCount}, pointer(x2), pointer(y2));
    }
    join.record(branch.get());
    ASSERT_EQ(wait_event(trunk, join.get(), 0), cuda::kSuccess);
  });
  for (int i = 0; i < 10; ++i) graph.launch(stream.get());
  EXPECT_EQ(download(y1), times(one, 2));
  EXPECT_EQ(download(y2), times(two, 2));
}

TEST_F(LaunchGpuTest, two_captured_graphs_with_workspaces_run_at_once) {
  const Op twice = launcher_->op("double");
  const cuda::OwnedStream capturing(*driver_);
  constexpr std::size_t kCount = 200'000;
  const std::vector<float> one = counted(kCount);
  const std::vector<float> two = times(one, -3);
  const cuda::Buffer x1 = upload(one), x2 = upload(two), y1 = upload(one), y2 = upload(two);
  const auto capture = [&](const cuda::Buffer& x, const cuda::Buffer& y) {
    return cuda::CapturedGraph(*driver_, capturing.get(),
                               [&](cuda::Stream stream) { twice(stream, {kCount}, pointer(x), pointer(y)); });
  };
  const cuda::CapturedGraph first = capture(x1, y1);
  const cuda::CapturedGraph second = capture(x2, y2);
  const cuda::OwnedStream left(*driver_), right(*driver_);
  for (int i = 0; i < 50; ++i) {
    first.launch(left.get());
    second.launch(right.get());
  }
  EXPECT_EQ(download(y1), times(one, 2));
  EXPECT_EQ(download(y2), times(two, 2));
}

TEST_F(LaunchGpuTest, threads_with_streams_of_their_own_do_not_disturb_each_other) {
  const Op twice = launcher_->op("double");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      context_->make_current();
      const cuda::OwnedStream stream(*driver_);
      const std::vector<float> values = times(counted(3000), static_cast<float>(thread + 1));
      const cuda::Buffer x = upload(values);
      const cuda::Buffer y = upload(values);
      for (int i = 0; i < 100; ++i) twice(stream.get(), {3000}, pointer(x), pointer(y));
      EXPECT_EQ(download(y), times(values, 2)) << "thread " << thread;
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(LaunchGpuTest, a_context_that_ended_is_not_used_again) {
  const Op scale = launcher_->op("scale[dtype=f32]");
  {
    const cuda::Buffer x = upload(counted(64));
    scale(nullptr, {1, 64}, pointer(x), pointer(x), 2);
    EXPECT_EQ(download(x), times(counted(64), 2));
  }
  context_.reset();
  context_.emplace(*driver_, 0);
  const cuda::Buffer x = upload(counted(64));
  scale(nullptr, {1, 64}, pointer(x), pointer(x), 3);
  EXPECT_EQ(download(x), times(counted(64), 3));
}

TEST_F(LaunchGpuTest, a_refresh_makes_the_plans_of_contexts_that_there_are) {
  const Op scale = launcher_->op("scale[dtype=f32]");
  const auto tune = [&](int rows) {
    SampleCache(path()).add_winner(scale_interface(), "scale[dtype=f32]{rows=" + std::to_string(rows) + ",cols=64}",
                                   "plain{num_warps=2}", {.role = WinnerRole::base, .device = device_});
  };
  const auto launch = [&](float factor) {
    const cuda::Buffer x = upload(counted(64));
    scale(nullptr, {1, 64}, pointer(x), pointer(x), factor);
    EXPECT_EQ(download(x), times(counted(64), factor));
  };
  launch(2);
  context_.reset();
  tune(1);
  EXPECT_NO_THROW(launcher_->refresh()) << "with a context that has ended, and none current";
  context_.emplace(*driver_, 0);
  launch(3);
  tune(2);
  std::thread([&] { EXPECT_NO_THROW(launcher_->refresh()) << "of a thread without a context"; }).join();
  launch(4);
}

TEST_F(LaunchGpuTest, a_binary_that_the_driver_rejects_is_a_clear_error) {
  {
    SampleCache cache(path());
    OpInterface op = scale_interface();
    op.op = "broken";
    const char* text = "not a binary at all";
    cache.add_op(
        op, scale_plain(), scale_kernels(),
        {reinterpret_cast<const std::byte*>(text), reinterpret_cast<const std::byte*>(text) + std::strlen(text) + 1});
    cache.add_winner(op, "broken[dtype=f32]{rows=8,cols=64}", "plain{num_warps=4}",
                     {.role = WinnerRole::base, .device = device_});
  }
  const cuda::Buffer x = upload(counted(64));
  try {
    Launcher(path()).op("broken[dtype=f32]")(nullptr, {1, 64}, pointer(x), pointer(x), 2);
    FAIL() << "no error";
  } catch (const LaunchError& error) {
    EXPECT_EQ(error.code(), TW_ERROR_DEVICE);
    EXPECT_THAT(error.what(), HasSubstr("plain{num_warps=4} of broken[dtype=f32,round=no]"));
    EXPECT_THAT(error.what(), HasSubstr("CUDA_ERROR_INVALID_IMAGE"));
  }
  context_->synchronize();
}

}  // namespace
}  // namespace tilewright
