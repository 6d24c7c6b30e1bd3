// SPDX-License-Identifier: Apache-2.0
// Warp functions: kernels/emulator/builtins/warp.h and tuner/device/cpu/barriers.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test {
namespace {

using ::testing::HasSubstr;
constexpr unsigned kPoison = 0xffffffffu;

TEST(Warp, shuffles_read_the_lanes_that_the_ptx_manual_names) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(int* out) {
  const int lane = threadIdx.x, v = 100 + lane;
  out[lane] = __shfl_xor_sync(0xffffffffu, v, 5);
  out[32 + lane] = __shfl_up_sync(0xffffffffu, v, 3);
  out[64 + lane] = __shfl_down_sync(0xffffffffu, v, 3);
  out[96 + lane] = __shfl_sync(0xffffffffu, v, 37);
  out[128 + lane] = __shfl_down_sync(0xffffffffu, v, 3, 8);
  out[160 + lane] = __shfl_up_sync(0xffffffffu, v, 3, 8);
  out[192 + lane] = __shfl_sync(0xffffffffu, v, 2, 8);
  out[224 + lane] = __shfl_xor_sync(0xffffffffu, v, 12, 8);
})cu");
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<int> out(256, -1);
    EmulatedLaunch launch = extents(1, 32);
    launch.seed = seed;
    ASSERT_EQ(kernel.run(launch, out.data()).text, "");
    for (int lane = 0; lane < 32; ++lane) {
      const auto at = [&](int which) { return out[static_cast<std::size_t>(32 * which + lane)] - 100; };
      EXPECT_EQ(at(0), lane ^ 5);
      EXPECT_EQ(at(1), lane < 3 ? lane : lane - 3);
      EXPECT_EQ(at(2), lane > 28 ? lane : lane + 3);
      EXPECT_EQ(at(3), 5);
      EXPECT_EQ(at(4), lane % 8 > 4 ? lane : lane + 3);
      EXPECT_EQ(at(5), lane % 8 < 3 ? lane : lane - 3);
      EXPECT_EQ(at(6), lane / 8 * 8 + 2);
      // A lane of an earlier segment can be read, one of a later segment cannot.
      EXPECT_EQ(at(7), (lane ^ 12) > lane / 8 * 8 + 7 ? lane : lane ^ 12);
    }
  }
}

TEST(Warp, shuffles_carry_values_of_every_size) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(double* d, unsigned long long* u, __half* h, float* f) {
  const int lane = threadIdx.x;
  d[lane] = __shfl_xor_sync(0xffffffffu, 1.5 * lane, 1);
  u[lane] = __shfl_xor_sync(0xffffffffu, 0x100000000ull * lane, 1);
  h[lane] = __shfl_xor_sync(0xffffffffu, __float2half(lane), 1);
  f[lane] = __half2float(h[lane]);
})cu");
  std::vector<double> d(32);
  std::vector<unsigned long long> u(32);
  std::vector<std::uint16_t> h(32);
  std::vector<float> f(32);
  ASSERT_EQ(kernel.run(extents(1, 32), d.data(), u.data(), h.data(), f.data()).text, "");
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(d[lane], 1.5 * (lane ^ 1));
    EXPECT_EQ(u[lane], 0x100000000ull * (lane ^ 1));
    EXPECT_EQ(f[lane], static_cast<float>(lane ^ 1));
  }
}

TEST(Warp, a_lane_outside_the_mask_or_the_block_gives_poison) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(unsigned* out) {
  const unsigned lane = threadIdx.x;
  if (lane < 16) out[lane] = __shfl_xor_sync(0xffffu, lane, 24);
  if (lane >= 16) out[lane] = __shfl_xor_sync(0xffff0000u, lane, 1);
})cu");
  // 24 threads: lanes 24 to 31 do not exist, and need not arrive.
  std::vector<unsigned> out(24, 1);
  ASSERT_EQ(kernel.run(extents(1, 24), out.data()).text, "");
  for (unsigned lane = 0; lane < 16; ++lane) EXPECT_EQ(out[lane], kPoison) << lane;
  for (unsigned lane = 16; lane < 24; ++lane) EXPECT_EQ(out[lane], lane ^ 1) << lane;
}

TEST(Warp, lanes_that_have_exited_are_not_waited_for) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(unsigned* out) {
  if (threadIdx.x % 2 == 1) return;
  out[threadIdx.x] = __ballot_sync(0xffffffffu, threadIdx.x >= 16);
})cu");
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    std::vector<unsigned> out(32, 7);
    EmulatedLaunch launch = extents(1, 32);
    launch.seed = seed;
    ASSERT_EQ(kernel.run(launch, out.data()).text, "");
    for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane % 2 == 1 ? 7u : 0x55550000u);
  }
}

TEST(Warp, votes_matches_and_reductions_agree_with_plain_loops) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(unsigned* out) {
  const unsigned lane = threadIdx.x, full = 0xffffffffu;
  unsigned* mine = out + lane;
  int same = -1;
  mine[0] = __ballot_sync(full, lane % 3 == 0);
  mine[32] = __any_sync(full, lane == 31);
  mine[64] = __all_sync(full, lane < 32);
  mine[96] = __all_sync(full, lane != 9);
  mine[128] = __match_any_sync(full, lane % 4);
  mine[160] = __match_all_sync(full, 7, &same) ^ (same << 4);
  mine[192] = __match_all_sync(full, lane, &same) ^ same;
  mine[224] = __reduce_add_sync(full, lane);
  mine[256] = static_cast<unsigned>(__reduce_min_sync(full, static_cast<int>(lane) - 16));
  mine[288] = __reduce_max_sync(full, lane * 2);
  mine[320] = __reduce_or_sync(full, 1u << (lane % 8));
  mine[352] = __reduce_xor_sync(full, 1u << (lane % 8));
  mine[384] = __reduce_and_sync(full, ~(1u << (lane % 8)));
  mine[416] = __any_sync(full, 0);
})cu");
  std::vector<unsigned> out(448);
  ASSERT_EQ(kernel.run(extents(1, 32), out.data()).text, "");
  for (unsigned lane = 0; lane < 32; ++lane) {
    const auto at = [&](unsigned which) { return out[32 * which + lane]; };
    EXPECT_EQ(at(0), 0x49249249u);
    EXPECT_EQ(at(1), 1u);
    EXPECT_EQ(at(2), 1u);
    EXPECT_EQ(at(3), 0u);
    EXPECT_EQ(at(4), 0x11111111u << lane % 4);
    EXPECT_EQ(at(5), 0xffffffffu ^ 16u);
    EXPECT_EQ(at(6), 0u);
    EXPECT_EQ(at(7), 496u);
    EXPECT_EQ(static_cast<int>(at(8)), -16);
    EXPECT_EQ(at(9), 62u);
    EXPECT_EQ(at(10), 0xffu);
    EXPECT_EQ(at(11), 0u);
    EXPECT_EQ(at(12), 0xffffff00u);
    EXPECT_EQ(at(13), 0u);
  }
}

TEST(Warp, disjoint_masks_meet_independently) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(int* out) {
  const int lane = threadIdx.x;
  const unsigned mine = 3u << (lane / 2 * 2);
  int sum = lane;
  for (int i = 0; i < 10; ++i) sum += __shfl_xor_sync(mine, sum, 1);
  __syncwarp();
  out[lane] = sum;
})cu");
  std::vector<int> out(32);
  ASSERT_EQ(kernel.run(extents(1, 32), out.data()).text, "");
  for (int lane = 0; lane < 32; ++lane) {
    const int pair = lane / 2 * 4 + 1;  // sum of the two lanes, doubled nine times
    EXPECT_EQ(out[static_cast<std::size_t>(lane)], pair << 9);
  }
}

TEST(Warp, writes_before_syncwarp_are_there_after_it) {
  const EmulatedKernel kernel(R"cu(
#include "device/shared.cuh"
template <class Config> __global__ void kernel(int* out) {
  int* shared = shared_storage<int>();
  shared[threadIdx.x] = threadIdx.x;
  __syncwarp();
  out[threadIdx.x] = shared[31 - threadIdx.x];
})cu");
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<int> out(32);
    EmulatedLaunch launch = extents(1, 32, 128);
    launch.seed = seed;
    ASSERT_EQ(kernel.run(launch, out.data()).text, "");
    for (int lane = 0; lane < 32; ++lane) EXPECT_EQ(out[static_cast<std::size_t>(lane)], 31 - lane);
  }
}

TEST(Warp, a_missing_syncwarp_shows_as_poison) {
  const EmulatedKernel kernel(R"cu(
#include "device/shared.cuh"
template <class Config> __global__ void kernel(int* out) {
  int* shared = shared_storage<int>();
  shared[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = shared[31 - threadIdx.x];
})cu");
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<int> out(32);
    EmulatedLaunch launch = extents(1, 32, 128);
    launch.seed = seed;
    ASSERT_EQ(kernel.run(launch, out.data()).text, "");
    EXPECT_THAT(out, testing::Contains(static_cast<int>(kPoison)));
  }
}

TEST(Warp, a_lane_that_its_own_mask_lacks_is_reported) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(int* out) {
  out[threadIdx.x] = __shfl_xor_sync(0x0000ffffu, 1, 1);
})cu");
  std::vector<int> out(32);
  const EmulatedOutcome outcome = kernel.run(extents(1, 32), out.data());
  EXPECT_EQ(outcome.status, EmulatedOutcome::Status::bad_mask);
  EXPECT_THAT(outcome.text, HasSubstr("kernel kernel, block (0,0,0), thread ("));
  EXPECT_THAT(outcome.text, HasSubstr("called by a lane that its mask lacks (kernel.generated.cu:"));
}

TEST(Warp, lanes_that_meet_in_different_functions_are_reported) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(int* out) {
  if (threadIdx.x < 16)
    out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 1);
  else
    __syncwarp();
})cu");
  std::vector<int> out(32);
  const EmulatedOutcome outcome = kernel.run(extents(1, 32), out.data());
  EXPECT_EQ(outcome.status, EmulatedOutcome::Status::bad_mask);
  EXPECT_THAT(outcome.text, HasSubstr("different warp functions"));
}

TEST(Warp, an_active_mask_holds_the_caller_alone) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(unsigned* out) { out[threadIdx.x] = __activemask(); })cu");
  std::vector<unsigned> out(32);
  ASSERT_EQ(kernel.run(extents(1, 32), out.data()).text, "");
  for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], 1u << lane);
}

}  // namespace
}  // namespace tilewright::test
