// SPDX-License-Identifier: Apache-2.0
// kernels/device/reduce.cuh and kernels/device/row.cuh.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test {
namespace {

TEST(Reduce, gives_every_lane_of_a_group_the_groups_result) {
  const EmulatedKernel kernel(R"cu(
#include "device/reduce.cuh"
template <class Config> __global__ void kernel(const float* x, float* max8, double* sum32) {
  using namespace tilewright;
  max8[threadIdx.x] = reduce_lanes<8>(x[threadIdx.x], Max{});
  sum32[threadIdx.x] = reduce_lanes<32>(double{x[threadIdx.x]}, Sum{});
})cu");
  std::vector<float> x(32);
  for (int lane = 0; lane < 32; ++lane)
    x[static_cast<std::size_t>(lane)] = static_cast<float>((lane * 37) % 61) - 30.0F;
  std::vector<float> max8(32);
  std::vector<double> sum32(32);
  ASSERT_EQ(kernel.run(extents(1, 32), x.data(), max8.data(), sum32.data()).text, "");
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const auto group = x.begin() + static_cast<std::ptrdiff_t>(lane / 8 * 8);
    EXPECT_EQ(max8[lane], *std::max_element(group, group + 8));
    EXPECT_EQ(sum32[lane], std::accumulate(x.begin(), x.end(), 0.0));
  }
}

constexpr const char* kCopyRow = R"cu(
#include "device/row.cuh"
// One thread a vector: y = x for one row, with 99 outside of it.
template <class Config> __global__ void kernel(const float* x, float* y, float* outside, long long cols) {
  using namespace tilewright;
  const RowVectors<float, 4, true> row(x, cols);
  if (threadIdx.x >= row.count()) return;
  const auto vector = row.load(x, threadIdx.x, 99.0f);
  row.store(y, threadIdx.x, vector);
  for (int j = 0; j < 4; ++j) {
    if (vector[j] == 99.0f) outside[0] += 1.0f;
  }
})cu";

TEST(Row, covers_any_width_from_any_address_and_touches_nothing_outside) {
  const EmulatedKernel kernel(kCopyRow);
  for (std::size_t from = 0; from < 4; ++from) {
    for (std::size_t to = 0; to < 4; ++to) {
      for (const std::size_t cols : {1U, 3U, 4U, 9U, 16U}) {
        alignas(16) float x[32];
        alignas(16) float y[32];
        std::iota(std::begin(x), std::end(x), 1.0F);
        std::fill(std::begin(y), std::end(y), -1.0F);
        float outside = 0;
        ASSERT_EQ(kernel.run(extents(1, 32), &x[from], &y[to], &outside, static_cast<long long>(cols)).text, "");
        for (std::size_t i = 0; i < 32; ++i) {
          const bool inside = i >= to && i < to + cols;
          EXPECT_EQ(y[i], inside ? x[from + i - to] : -1.0F) << "from " << from << " to " << to << " width " << cols;
        }
        // Vectors cover the row and no more than what completes its first and last one.
        EXPECT_EQ(static_cast<std::size_t>(outside), (from + cols + 3) / 4 * 4 - cols);
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::test
