// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "tests/gpu/device_fixture.hpp"
#include "tests/unit/device/small_op.hpp"
#include "tuner/measure/measure.hpp"

namespace tilewright {
namespace {

using std::chrono::milliseconds;
using tilewright::testing::SmallOp;

constexpr StopRule kRule{.relative_interval = 0.005, .min_rounds = 8, .max_rounds = 100, .budget = milliseconds(200)};

// Times SmallOp over `n` elements, 8 bytes each.
class GpuMeasure : public tilewright::testing::OnGpu {
 protected:
  [[nodiscard]] Timing time(std::int64_t n, MeasureMode mode) {
    const auto bytes = static_cast<std::size_t>(n) * sizeof(float);
    const auto executable = SmallOp(n).load(*device_);
    const int count = input_sets_for(device_->facts(), 2 * bytes, device_->free_bytes(), mode);
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    std::vector<LaunchArgs> sets;
    for (int i = 0; i < count; ++i) {
      LaunchArgs set;
      for (int k = 0; k < 2; ++k) {
        buffers.push_back(device_->allocate(bytes, "tensor"));
        device_->fill(buffers.back()->address(), static_cast<std::uint8_t>(i + 1), bytes);
        set.values.push_back(buffers.back()->address());
      }
      set.values.push_back(0x3f800000);
      sets.push_back(set);
    }
    const double estimate = device_->rounds(*executable, {mode, 1, sets, {}})->run();
    const int launches = mode == MeasureMode::events ? 1 : launches_for(estimate, milliseconds(1), count);
    const auto rounds = device_->rounds(*executable, {mode, launches, sets, {}});
    return measure(*rounds, kRule);
  }
  [[nodiscard]] Timing floor(MeasureMode mode, int launches) {
    return measure(*device_->empty_rounds(mode, launches), kRule);
  }
};

TEST_F(GpuMeasure, a_kernel_is_slower_cold_than_hot_and_slower_than_an_empty_one) {
  const std::int64_t n = std::int64_t{1} << 21;  // 16 MiB in all: fits into the L2 of any sm_90
  const double cold = time(n, MeasureMode::cold).median_ns, hot = time(n, MeasureMode::hot).median_ns;
  const double floor_ns = floor(MeasureMode::cold, 64).median_ns;
  EXPECT_LT(hot, cold);
  EXPECT_LT(floor_ns, hot);
  EXPECT_GT(floor_ns, 100);
}

TEST_F(GpuMeasure, events_around_one_launch_count_what_a_graph_does_not) {
  const std::int64_t n = std::int64_t{1} << 18;
  EXPECT_GT(time(n, MeasureMode::events).median_ns, time(n, MeasureMode::cold).median_ns);
}

TEST_F(GpuMeasure, cold_times_come_back_within_two_percent) {
  const std::int64_t n = std::int64_t{1} << 23;
  const double first = time(n, MeasureMode::cold).median_ns, second = time(n, MeasureMode::cold).median_ns;
  EXPECT_NEAR(second / first, 1, 0.02);
}

TEST_F(GpuMeasure, the_copy_ceiling_is_below_what_the_memory_could_move) {
  constexpr std::size_t kBytes = std::size_t{128} << 20;
  const auto a = device_->allocate(kBytes, "a"), b = device_->allocate(kBytes, "b");
  device_->fill(a->address(), 3, kBytes);
  device_->fill(b->address(), 5, kBytes);
  const std::vector<Address> to{b->address(), a->address()}, from{a->address(), b->address()};
  const Timing timing = measure(*device_->copy_rounds(MeasureMode::cold, 4, to, from, kBytes), kRule);
  const double gigabytes_per_second = 2.0 * kBytes / timing.median_ns;
  // Bounds: 40 Gbit/s a pin is more than any memory's rate, 1 Gbit/s less.
  const double bus = device_->facts().memory_bus_bits / 8.0;
  EXPECT_LT(gigabytes_per_second, 40 * bus);
  EXPECT_GT(gigabytes_per_second, bus);
}

TEST_F(GpuMeasure, what_a_kernel_changes_is_put_back_outside_the_timed_region) {
  SmallOp op(1000);
  op.body = "if (i < n) y[i] += factor;";
  const auto executable = op.load(*device_);
  const auto y = device_->allocate(4000, "y"), pristine = device_->allocate(4000, "pristine");
  device_->fill(pristine->address(), 0, 4000);
  const std::vector<LaunchArgs> sets{{{pristine->address(), y->address(), 0x3f800000}, {}}};
  const std::vector<Restore> restore{{y->address(), pristine->address(), 4000}};
  const auto rounds = device_->rounds(*executable, {MeasureMode::cold, 1, sets, restore});
  for (int i = 0; i < 5; ++i) EXPECT_GT(rounds->run(), 0);
  float value = 0;
  device_->download(std::as_writable_bytes(std::span(&value, 1)), y->address());
  EXPECT_EQ(value, 1.0f);
}

}  // namespace
}  // namespace tilewright
