// SPDX-License-Identifier: Apache-2.0
// kernels/device/reduce.cuh.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test::reduce_test {
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

}  // namespace
}  // namespace tilewright::test::reduce_test
