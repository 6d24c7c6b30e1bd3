// SPDX-License-Identifier: Apache-2.0
#include "tuner/device/cuda_device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/launch/recording_driver/recording.hpp"
#include "tests/unit/device/small_op.hpp"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tilewright::testing::param;
using tilewright::testing::Recording;
using tilewright::testing::SmallOp;

// A binary for the recording driver with SmallOp's kernel: its launches are recorded, nothing is computed.
constexpr std::string_view kBinary = "tilewright-recording\nscale_plain 8 8 4 8\n";

class CudaDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = open_cuda_device(0);
    recording_.reset();
  }
  [[nodiscard]] std::unique_ptr<DeviceExecutable> load(const SmallOp& op) {
    return device_->load(std::as_bytes(std::span(kBinary.data(), kBinary.size() + 1)),
                         {{.entry = "scale_plain", .symbol = "scale_plain"}}, op.interface, op.recipe, op.config,
                         op.problem);
  }
  // Argument sets that differ in their addresses, which the recording driver does not dereference.
  [[nodiscard]] static std::vector<LaunchArgs> sets(int count) {
    std::vector<LaunchArgs> all;
    for (int i = 0; i < count; ++i) all.push_back({{0x1000u + static_cast<unsigned>(i), 0x2000, 0}, {}});
    return all;
  }
  // The sets of the launches since the last reset, by number.
  [[nodiscard]] std::vector<int> launched() const {
    std::vector<int> numbers;
    for (const auto& launch : recording_.launches())
      numbers.push_back(static_cast<int>(param<Address>(launch, 0)) - 0x1000);
    return numbers;
  }

  const Recording& recording_ = Recording::get();
  std::unique_ptr<Device> device_;
};

// Two sets exceed twice any L2.
constexpr std::int64_t kLarge = std::int64_t{1} << 28;

TEST_F(CudaDevice, says_what_it_is) {
  EXPECT_EQ(device_->name(), "cuda:0");
  EXPECT_FALSE(device_->facts().is_cpu());
  EXPECT_THAT(device_->gpu_uuid(), HasSubstr("GPU-"));
  EXPECT_GE(device_->driver_version(), 12000);
  EXPECT_GT(device_->free_bytes(), 0u);
  EXPECT_TRUE(has_cuda_device());
}

TEST_F(CudaDevice, one_that_is_not_there_is_an_error_that_names_those_that_are) {
  try {
    (void)open_cuda_device(7);
    FAIL() << "opened a GPU that is not there";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("there is no cuda:7: this machine has cuda:0"));
  }
}

TEST_F(CudaDevice, memory_can_be_filled_copied_and_read_back_and_is_freed) {
  const std::size_t before = recording_.live_allocations();
  {
    const auto a = device_->allocate(1000, "a"), b = device_->allocate(1000, "b");
    device_->fill(a->address(), 7, 1000);
    device_->fill(b->address(), 9, 1000);
    device_->copy(b->address() + 10, a->address(), 20);
    std::vector<std::byte> bytes(1000);
    device_->download(bytes, b->address());
    EXPECT_EQ(bytes[9], std::byte{9});
    EXPECT_EQ(bytes[10], std::byte{7});
    device_->upload(b->address(), std::vector<std::byte>(5, std::byte{1}));
    device_->download(bytes, b->address());
    EXPECT_EQ(bytes[4], std::byte{1});
    EXPECT_EQ(bytes[5], std::byte{9});
  }
  EXPECT_EQ(recording_.live_allocations(), before);
}

TEST_F(CudaDevice, runs_a_kernel_once_with_its_arguments_and_dims) {
  const auto executable = load(SmallOp(1000));
  executable->run({{0x1234, 0x5678, 0x40400000}, {}});
  const auto launches = recording_.launches();
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].grid[0], 16u);
  EXPECT_EQ(launches[0].block[0], 64u);
  EXPECT_EQ(param<Address>(launches[0], 1), 0x5678u);
  EXPECT_EQ(param<float>(launches[0], 2), 3.0f);
  EXPECT_EQ(param<std::int64_t>(launches[0], 3), 1000);
}

TEST_F(CudaDevice, a_failed_launch_says_what_of) {
  const auto executable = load(SmallOp(1000));
  recording_.fail("cuLaunchKernelEx", 700);
  try {
    executable->run({{1, 2, 3}, {}});
    FAIL() << "a failed launch was let through";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.status(), 700);
    EXPECT_THAT(error.what(), HasSubstr("launching plain{threads=64} on scale"));
  }
  recording_.fail("cuStreamSynchronize", 719);
  EXPECT_THROW(executable->run({{1, 2, 3}, {}}), DeviceError);
  EXPECT_THROW(executable->run({{1, 2}, {}}), UsageError);
}

TEST_F(CudaDevice, an_illegal_config_is_refused_when_loaded) {
  SmallOp op(1000);
  op.recipe.constraints = {Formula::parse("n % 64 == 0")};
  EXPECT_THROW((void)load(op), UsageError);
  EXPECT_THROW((void)device_->load({}, {}, op.interface, op.recipe, op.config, op.problem), DeviceError);
}

TEST_F(CudaDevice, a_cold_round_of_small_sets_clears_the_cache_and_goes_through_them_in_turn) {
  const auto executable = load(SmallOp(1000));
  const auto args = sets(3);
  const auto rounds = device_->rounds(*executable, {MeasureMode::cold, 6, args, {}});
  EXPECT_EQ(recording_.launches().size(), 0u) << "capturing launches nothing";
  EXPECT_GE(rounds->run(), 0.0);
  EXPECT_THAT(launched(), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_EQ(recording_.calls("cuMemsetD8Async"), 1u);
  EXPECT_GE(rounds->run(), 0.0);
  EXPECT_EQ(launched().size(), 12u);
  EXPECT_EQ(recording_.calls("cuMemsetD8Async"), 2u);
}

TEST_F(CudaDevice, a_cold_round_of_large_sets_rotates_behind_a_lead_of_its_last_launches) {
  const auto executable = load(SmallOp(kLarge));
  const auto args = sets(3);
  const auto rounds = device_->rounds(*executable, {MeasureMode::cold, 18, args, {}});
  EXPECT_GE(rounds->run(), 0.0);
  EXPECT_THAT(launched(), ElementsAre(1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2));
  EXPECT_EQ(recording_.calls("cuMemsetD8Async"), 0u);
}

TEST_F(CudaDevice, a_loose_round_launches_behind_a_cleared_cache_without_a_graph) {
  const auto executable = load(SmallOp(kLarge));
  const auto args = sets(3);
  const auto rounds = device_->rounds(
      *executable, {.mode = MeasureMode::cold, .launches = 4, .sets = args, .restore = {}, .loose = true});
  EXPECT_GE(rounds->run(), 0.0);
  EXPECT_THAT(launched(), ElementsAre(0, 1, 2, 0));
  EXPECT_EQ(recording_.calls("cuMemsetD8Async"), 1u);
  EXPECT_EQ(recording_.calls("cuStreamBeginCapture_v2"), 0u);
  EXPECT_EQ(recording_.calls("cuGraphLaunch"), 0u);
}

TEST_F(CudaDevice, launches_of_a_round_have_no_programmatic_edge) {
  const auto executable = load(SmallOp(1000));
  const auto args = sets(2);
  (void)device_->rounds(*executable, {MeasureMode::cold, 4, args, {}})->run();
  for (const auto& launch : recording_.launches()) EXPECT_EQ(launch.pdl, 0);
}

TEST_F(CudaDevice, a_hot_round_never_clears_the_cache) {
  const auto executable = load(SmallOp(1000));
  const auto args = sets(1);
  (void)device_->rounds(*executable, {MeasureMode::hot, 16, args, {}})->run();
  EXPECT_EQ(launched(), std::vector<int>(18, 0));
  EXPECT_EQ(recording_.calls("cuMemsetD8Async"), 0u);
}

TEST_F(CudaDevice, by_events_each_launch_is_alone_behind_a_cleared_cache) {
  const auto executable = load(SmallOp(kLarge));
  const auto args = sets(2);
  (void)device_->rounds(*executable, {MeasureMode::events, 3, args, {}})->run();
  EXPECT_THAT(launched(), ElementsAre(0, 1, 0));
  EXPECT_EQ(recording_.calls("cuMemsetD8Async"), 3u);
}

TEST_F(CudaDevice, what_a_kernel_changes_is_put_back_before_each_round) {
  const auto executable = load(SmallOp(kLarge));
  const auto changed = device_->allocate(64, "changed"), pristine = device_->allocate(64, "pristine");
  device_->fill(pristine->address(), 5, 64);
  device_->fill(changed->address(), 1, 64);
  const auto args = sets(2);
  const std::vector<Restore> restore{{changed->address(), pristine->address(), 64}};
  const auto rounds = device_->rounds(*executable, {MeasureMode::cold, 2, args, restore});
  std::vector<std::byte> bytes(64);
  for (int round = 0; round < 2; ++round) {
    device_->fill(changed->address(), 1, 64);
    (void)rounds->run();
    device_->download(bytes, changed->address());
    EXPECT_EQ(bytes, std::vector<std::byte>(64, std::byte{5}));
  }
  // No leading launch: it would change the restored values.
  EXPECT_THAT(launched(), ElementsAre(0, 1, 0, 1));
  EXPECT_THROW((void)device_->rounds(*executable, {MeasureMode::cold, 3, args, restore}), UsageError);
  EXPECT_THROW((void)device_->rounds(*executable, {MeasureMode::cold, 1, {}, {}}), UsageError);
}

TEST_F(CudaDevice, the_floor_launches_as_many_empty_kernels) {
  (void)device_->empty_rounds(MeasureMode::cold, 16)->run();
  const auto launches = recording_.launches();
  ASSERT_EQ(launches.size(), 18u);
  EXPECT_STREQ(launches[0].symbol, "tilewright_empty");
  recording_.reset();
  (void)device_->empty_rounds(MeasureMode::events, 4)->run();
  EXPECT_EQ(recording_.launches().size(), 4u);
}

TEST_F(CudaDevice, the_copy_goes_from_every_source_to_its_destination) {
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  std::vector<Address> from, to;
  for (int i = 0; i < 2; ++i) {
    for (auto* addresses : {&from, &to}) {
      buffers.push_back(device_->allocate(100, "copied"));
      device_->fill(buffers.back()->address(), static_cast<std::uint8_t>(buffers.size()), 100);
      addresses->push_back(buffers.back()->address());
    }
  }
  EXPECT_GE(device_->copy_rounds(MeasureMode::cold, 2, to, from, 100)->run(), 0.0);
  std::vector<std::byte> bytes(100);
  device_->download(bytes, to[0]);
  EXPECT_EQ(bytes[99], std::byte{1});
  device_->download(bytes, to[1]);
  EXPECT_EQ(bytes[99], std::byte{3});
  EXPECT_THROW((void)device_->copy_rounds(MeasureMode::cold, 2, to, {}, 100), UsageError);
}

TEST_F(CudaDevice, a_launch_that_fails_while_it_is_captured_leaves_the_device_usable) {
  const auto executable = load(SmallOp(1000));
  const auto args = sets(1);
  recording_.fail("cuLaunchKernelEx", 1);
  EXPECT_THROW((void)device_->rounds(*executable, {MeasureMode::cold, 4, args, {}}), DeviceError);
  executable->run({{1, 2, 3}, {}});
  EXPECT_EQ(recording_.launches().size(), 1u);
}

TEST_F(CudaDevice, a_round_that_fails_says_what_was_timed) {
  const auto executable = load(SmallOp(1000));
  const auto args = sets(1);
  const auto rounds = device_->rounds(*executable, {MeasureMode::cold, 4, args, {}});
  recording_.fail("cuStreamSynchronize", 719);
  try {
    (void)rounds->run();
    FAIL() << "a failed round was let through";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.status(), 719);
    EXPECT_THAT(error.what(), HasSubstr("timing plain{threads=64} on scale"));
  }
}

}  // namespace
}  // namespace tilewright
