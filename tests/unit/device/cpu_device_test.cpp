// SPDX-License-Identifier: Apache-2.0
#include "tuner/device/cpu_device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "tests/unit/device/small_op.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using tilewright::testing::SmallOp;

class CpuDevice : public ::testing::Test {
 protected:
  // x = 0, 1, 2, … and y = -1 everywhere.
  void make_tensors(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
    x_ = device_->allocate(count * sizeof(float), "x");
    y_ = device_->allocate(count * sizeof(float), "y");
    device_->upload(x_->address(), std::as_bytes(std::span<const float>(values)));
    device_->upload(y_->address(), std::as_bytes(std::span<const float>(std::vector<float>(count, -1.0f))));
  }
  [[nodiscard]] std::vector<float> y() const {
    std::vector<float> values(y_->bytes() / sizeof(float));
    device_->download(std::as_writable_bytes(std::span<float>(values)), y_->address());
    return values;
  }
  [[nodiscard]] LaunchArgs args(float factor) const {
    return {{x_->address(), y_->address(), std::bit_cast<std::uint32_t>(factor)}, {}};
  }

  std::unique_ptr<Device> device_ = open_cpu_device();
  std::unique_ptr<DeviceBuffer> x_, y_;
};

TEST_F(CpuDevice, says_what_it_is) {
  EXPECT_EQ(device_->name(), "cpu");
  EXPECT_TRUE(device_->facts().is_cpu());
  EXPECT_EQ(device_->gpu_uuid(), "");
  EXPECT_EQ(device_->driver_version(), 0);
  EXPECT_FALSE(device_->readings().sm_clock_mhz.has_value());
  EXPECT_GT(device_->free_bytes(), std::size_t{1} << 20);
}

TEST_F(CpuDevice, memory_can_be_filled_copied_and_read_back) {
  const auto a = device_->allocate(1000, "a"), b = device_->allocate(1000, "b");
  EXPECT_EQ(a->bytes(), 1000u);
  EXPECT_EQ(a->address() % 256, 0u);
  device_->fill(a->address(), 7, 1000);
  device_->fill(b->address(), 9, 1000);
  device_->copy(b->address() + 10, a->address(), 20);
  std::vector<std::byte> bytes(1000);
  device_->download(bytes, b->address());
  EXPECT_EQ(bytes[9], std::byte{9});
  EXPECT_EQ(bytes[10], std::byte{7});
  EXPECT_EQ(bytes[29], std::byte{7});
  EXPECT_EQ(bytes[30], std::byte{9});
}

TEST_F(CpuDevice, refuses_to_promise_memory_that_the_host_has_not) {
  try {
    (void)device_->allocate(4 * device_->free_bytes(), "a tensor of a test");
    FAIL() << "promised four times the memory";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("for a tensor of a test failed"));
    EXPECT_THAT(error.what(), HasSubstr("are available"));
  }
}

TEST_F(CpuDevice, runs_a_kernel_with_its_pointers_scalars_and_dims) {
  make_tensors(1000);
  const auto executable = SmallOp(999).load(*device_);
  EXPECT_EQ(executable->plan().kernels.at(0).grid[0], 16u);
  executable->run(args(3.0f));
  for (std::size_t i = 0; i < 999; ++i) ASSERT_EQ(y()[i], 3.0f * static_cast<float>(i)) << i;
  EXPECT_EQ(y()[999], -1.0f);
}

TEST_F(CpuDevice, gives_a_kernel_the_values_of_its_plan) {
  make_tensors(1000);
  SmallOp op(999);
  op.body = "if (i < n) y[i] = twice_n;";
  op.load(*device_)->run(args(3.0f));
  EXPECT_EQ(y()[0], 1998.0f);
  EXPECT_EQ(y()[999], -1.0f);
}

TEST_F(CpuDevice, refuses_a_launch_with_too_few_arguments) {
  make_tensors(10);
  const auto executable = SmallOp(10).load(*device_);
  EXPECT_THROW(executable->run({{x_->address()}, {}}), UsageError);
}

TEST_F(CpuDevice, a_deadlock_is_a_device_error_and_the_next_run_is_unharmed) {
  make_tensors(64);
  SmallOp op(64);
  op.body =
      "if (factor > 1.0f && i < 3) __syncthreads(); __syncwarp(); if (i < n) y[i] = factor * x[i];"
      " if (factor > 1.0f) __syncthreads();";
  const auto executable = op.load(*device_);
  try {
    executable->run(args(2.0f));
    FAIL() << "a barrier that some threads reach twice was let through";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("running plain{threads=64} on scale"));
    EXPECT_THAT(error.what(), HasSubstr("deadlock"));
  }
  executable->run(args(0.5f));
  EXPECT_EQ(y()[63], 31.5f);
}

TEST_F(CpuDevice, an_illegal_config_is_refused_when_loaded_with_the_constraint) {
  SmallOp op(100);
  op.recipe.constraints = {Formula::parse("n % 64 == 0")};
  try {
    (void)op.load(*device_);
    FAIL() << "an illegal config was loaded";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("n % 64 == 0"));
    EXPECT_THAT(error.what(), HasSubstr("n=100"));
  }
}

TEST_F(CpuDevice, a_binary_without_the_kernel_is_refused) {
  SmallOp op(100);
  const CompileResult compiled = device_->compiler().compile(op.request(*device_));
  ASSERT_TRUE(compiled.ok) << compiled.log;
  op.recipe.kernels[0].entry = "another";
  EXPECT_THROW(
      (void)device_->load(compiled.binary, kernel_facts(compiled), op.interface, op.recipe, op.config, op.problem),
      DeviceError);
}

TEST_F(CpuDevice, what_is_no_module_is_refused) {
  const SmallOp op(100);
  const std::vector<std::byte> text(100, std::byte{'x'});
  EXPECT_THROW((void)device_->load(text, {}, op.interface, op.recipe, op.config, op.problem), DeviceError);
}

TEST_F(CpuDevice, a_round_launches_over_the_sets_in_turn_and_restores_outside_the_timed_region) {
  make_tensors(100);
  SmallOp op(100);
  op.body = "if (i < n) y[i] += factor;";
  const auto executable = op.load(*device_);
  const auto pristine = device_->allocate(400, "pristine");
  device_->copy(pristine->address(), y_->address(), 400);
  const std::vector<LaunchArgs> sets{args(1.0f), args(10.0f)};
  const std::vector<Restore> restore{{y_->address(), pristine->address(), 400}};
  const auto rounds = device_->rounds(*executable, {MeasureMode::cold, 2, sets, restore});
  EXPECT_GT(rounds->run(), 0.0);
  EXPECT_GT(rounds->run(), 0.0);
  // -1 + 1 + 10, once: the second round began with the restored values.
  EXPECT_EQ(y()[99], 10.0f);
}

TEST_F(CpuDevice, a_round_that_would_use_a_restored_set_twice_is_refused) {
  make_tensors(100);
  const auto executable = SmallOp(100).load(*device_);
  const std::vector<LaunchArgs> sets{args(1.0f)};
  const std::vector<Restore> restore{{y_->address(), x_->address(), 400}};
  EXPECT_THROW((void)device_->rounds(*executable, {MeasureMode::cold, 2, sets, restore}), UsageError);
  EXPECT_THROW((void)device_->rounds(*executable, {MeasureMode::cold, 1, {}, {}}), UsageError);
}

TEST_F(CpuDevice, copies_and_empty_rounds_are_timed) {
  const auto a = device_->allocate(1 << 20, "a"), b = device_->allocate(1 << 20, "b");
  device_->fill(a->address(), 5, 1 << 20);
  const std::vector<Address> to{b->address()}, from{a->address()};
  const double copy_ns = device_->copy_rounds(MeasureMode::cold, 3, to, from, 1 << 20)->run();
  const double empty_ns = device_->empty_rounds(MeasureMode::cold, 100)->run();
  EXPECT_GT(copy_ns, empty_ns);
  std::vector<std::byte> last(1);
  device_->download(last, b->address() + (1 << 20) - 1);
  EXPECT_EQ(last[0], std::byte{5});
}

}  // namespace
}  // namespace tilewright
