// SPDX-License-Identifier: Apache-2.0
// Threads of a block: indices, barriers, shared memory, and their random order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cache/base/sanitizers.hpp"
#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test {
namespace {

using ::testing::HasSubstr;
using Status = EmulatedOutcome::Status;

EmulatedLaunch seeded(EmulatedLaunch launch, std::uint64_t seed) {
  launch.seed = seed;
  return launch;
}

TEST(Block, every_thread_of_every_block_runs_once_with_its_own_indices) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(int* counts) {
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  atomicAdd(&counts[block * blockDim.x * blockDim.y * blockDim.z + thread], 1);
})cu");
  EmulatedLaunch launch;
  launch.grid = {3, 2, 5};
  launch.block = {7, 3, 2};
  std::vector<int> counts(30 * 42);
  ASSERT_EQ(kernel.run(launch, counts.data()).text, "");
  EXPECT_THAT(counts, testing::Each(1));
}

constexpr const char* kBlockSum = R"cu(
#include "device/shared.cuh"
template <class Config> __global__ void kernel(const float* x, float* sums) {
  float* partial = shared_storage<float>();
  float sum = x[blockIdx.x * blockDim.x + threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  BARRIER;
  if (threadIdx.x == 0) {
    float total = 0;
    for (int i = 0; i < blockDim.x / 32; ++i) total += partial[i];
    sums[blockIdx.x] = total;
  }
})cu";

std::string block_sum(const std::string& barrier) { return "#define BARRIER " + barrier + "\n" + kBlockSum; }

std::vector<float> sums_of(const EmulatedKernel& kernel, std::uint64_t seed) {
  std::vector<float> x(16 * 256);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  std::vector<float> sums(16);
  EXPECT_EQ(kernel.run(seeded(extents(16, 256, 32), seed), x.data(), sums.data()).text, "");
  return sums;
}

TEST(Block, a_barrier_makes_all_writes_visible_whatever_the_order) {
  const EmulatedKernel kernel(block_sum("__syncthreads()"));
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const std::vector<float> sums = sums_of(kernel, seed);
    for (std::size_t block = 0; block < 16; ++block) {
      float expected = 0;
      for (std::size_t i = 0; i < 256; ++i) expected += static_cast<float>((block * 256 + i) % 7);
      EXPECT_EQ(sums[block], expected);
    }
  }
}

TEST(Block, a_missing_barrier_shows_as_poison_with_every_seed) {
  const EmulatedKernel kernel(block_sum("static_cast<void>(0)"));
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    int poisoned = 0;
    for (const float sum : sums_of(kernel, seed)) poisoned += std::isnan(sum) ? 1 : 0;
    // The sum is right only if the first warp happens to run last: in one block of eight.
    EXPECT_GT(poisoned, 8) << "seed " << seed;
  }
}

TEST(Block, a_missing_barrier_before_reuse_of_shared_memory_is_seen) {
  const EmulatedKernel kernel(R"cu(
#include "device/shared.cuh"
template <class Config> __global__ void kernel(int* wrong) {
  int* shared = shared_storage<int>();
  for (int round = 0; round < 4; ++round) {
    shared[threadIdx.x] = round;
    __syncthreads();
    if (shared[(threadIdx.x + 32) % blockDim.x] != round) atomicAdd(wrong, 1);
    // here a second __syncthreads() is missing
  }
})cu");
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    int wrong = 0;
    ASSERT_EQ(kernel.run(seeded(extents(1, 128, 512), seed), &wrong).text, "");
    EXPECT_GT(wrong, 0) << "seed " << seed;
  }
}

TEST(Block, the_same_seed_gives_the_same_order_and_another_seed_another) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(int* next, int* order) {
  order[atomicAdd(next, 1)] = blockIdx.x * 1000 + threadIdx.x;
})cu");
  const auto order = [&](std::uint64_t seed) {
    int next = 0;
    std::vector<int> result(4 * 96);
    EXPECT_EQ(kernel.run(seeded(extents(4, 96), seed), &next, result.data()).text, "");
    return result;
  };
  const std::vector<int> first = order(1);
  EXPECT_EQ(first, order(1));
  EXPECT_NE(first, order(2));
  // Lanes, warps and blocks all run in another order than that of their indices.
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
  EXPECT_FALSE(std::is_sorted(first.begin(), first.begin() + 32));
}

TEST(Block, dynamic_and_static_shared_memory_start_as_poison_in_every_block) {
  const EmulatedKernel kernel(R"cu(
#include "device/shared.cuh"
template <class Config> __global__ void kernel(int* clean) {
  __shared__ unsigned fixed[8];
  unsigned* dynamic = shared_storage<unsigned>();
  if (threadIdx.x < 8 && fixed[threadIdx.x] == 0xffffffffu && dynamic[threadIdx.x] == 0xffffffffu) atomicAdd(clean, 1);
  __syncthreads();
  fixed[threadIdx.x % 8] = 0;
  dynamic[threadIdx.x % 8] = 0;
})cu");
  int clean = 0;
  ASSERT_EQ(kernel.run(extents(5, 64, 32), &clean).text, "");
  EXPECT_EQ(clean, 5 * 8);
}

TEST(Block, static_shared_variables_are_one_a_block_and_not_one_a_thread) {
  const EmulatedKernel kernel(R"cu(
template <int kSize> __device__ int* scratch() {
  __shared__ int values[kSize];
  return values;
}
template <class Config> __global__ void kernel(int* out) {
  __shared__ int other;
  int* values = scratch<64>();
  values[threadIdx.x] = static_cast<int>(threadIdx.x + 64 * blockIdx.x);
  if (threadIdx.x == 63) other = 5;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = values[63 - threadIdx.x] + other;
})cu");
  std::vector<int> out(192);
  ASSERT_EQ(kernel.run(extents(3, 64), out.data()).text, "");
  for (int block = 0; block < 3; ++block) {
    for (int thread = 0; thread < 64; ++thread) {
      EXPECT_EQ(out[static_cast<std::size_t>(64 * block + thread)], 63 - thread + 64 * block + 5);
    }
  }
}

TEST(Block, dynamic_shared_memory_is_aligned_to_1024_bytes) {
  const EmulatedKernel kernel(R"cu(
#include "device/shared.cuh"
template <class Config> __global__ void kernel(unsigned long long* address) {
  *address = reinterpret_cast<unsigned long long>(shared_storage<int>());
})cu");
  unsigned long long address = 1;
  ASSERT_EQ(kernel.run(extents(1, 1, 100), &address).text, "");
  EXPECT_EQ(address % 1024, 0u);
}

TEST(Block, barriers_that_count_and_vote_tell_every_thread) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(int* out) {
  const int t = threadIdx.x;
  out[t] = __syncthreads_count(t % 3 == 0) * 100 + __syncthreads_and(t < 96) * 10 + __syncthreads_or(t == 95);
  out[t] += 1000 * __syncthreads_and(t != 1) + 10000 * __syncthreads_or(t == 200);
})cu");
  std::vector<int> out(96);
  ASSERT_EQ(kernel.run(extents(1, 96), out.data()).text, "");
  EXPECT_THAT(out, testing::Each(3211));
}

TEST(Block, a_barrier_does_not_wait_for_threads_that_have_exited) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(int* out) {
  if (threadIdx.x >= 40) return;
  out[threadIdx.x] = __syncthreads_count(1);
})cu");
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<int> out(64);
    ASSERT_EQ(kernel.run(seeded(extents(1, 64), seed), out.data()).text, "");
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i < 40 ? 40 : 0);
  }
}

TEST(Block, named_barriers_let_producers_go_on_and_consumers_wait) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/barrier.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(int* out) {
  int* shared = shared_storage<int>();
  if (threadIdx.x < 32) {
    shared[threadIdx.x] = threadIdx.x;
    ptx::barrier_arrive(3, 64);
  } else if (threadIdx.x < 64) {
    ptx::barrier_sync(3, 64);
    out[threadIdx.x - 32] = shared[63 - threadIdx.x];
  }
})cu");
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<int> out(32);
    ASSERT_EQ(kernel.run(seeded(extents(1, 96, 128), seed), out.data()).text, "");
    for (int i = 0; i < 32; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], 31 - i);
  }
}

TEST(Block, a_named_barrier_with_a_count_that_is_no_multiple_of_32_is_reported) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/barrier.cuh"
template <class Config> __global__ void kernel() { ptx::barrier_sync(1, 48); })cu");
  const EmulatedOutcome outcome = kernel.run(extents(1, 64));
  EXPECT_EQ(outcome.status, Status::bad_barrier);
  EXPECT_THAT(outcome.text, HasSubstr("multiple of 32"));
}

TEST(Block, threads_at_two_different_syncthreads_are_reported) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel() {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
})cu");
  const EmulatedOutcome outcome = kernel.run(extents(1, 64));
  EXPECT_EQ(outcome.status, Status::bad_barrier);
  EXPECT_THAT(outcome.text, HasSubstr("two different __syncthreads()"));
}

TEST(Block, a_thread_that_lets_its_block_wait_is_a_deadlock_that_names_the_waiting) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/barrier.cuh"
template <class Config> __global__ void kernel() {
  if (threadIdx.x < 32) __syncthreads();
  if (threadIdx.x == 40) return;
  if (threadIdx.x >= 32) ptx::barrier_sync(2, 64);
})cu");
  const EmulatedOutcome outcome = kernel.run(extents(1, 64));
  EXPECT_EQ(outcome.status, Status::deadlock);
  EXPECT_THAT(outcome.text, HasSubstr("kernel kernel, block (0,0,0): deadlock, no thread can go on:"));
  EXPECT_THAT(outcome.text, HasSubstr("32 threads waiting at __syncthreads() (kernel.generated.cu:"));
  EXPECT_THAT(outcome.text, HasSubstr(": 0-31\n"));
  EXPECT_THAT(outcome.text, HasSubstr("31 threads waiting at barrier 2 (kernel.generated.cu:"));
  EXPECT_THAT(outcome.text, HasSubstr(": 32-39, 41-63"));
  EXPECT_THAT(outcome.text, HasSubstr("1 thread exited: 40"));
}

TEST(Block, a_warp_that_waits_for_a_lane_at_another_barrier_is_a_deadlock) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel() {
  if (threadIdx.x == 0) __syncthreads();
  __syncwarp();
  if (threadIdx.x != 0) __syncthreads();
})cu");
  const EmulatedOutcome outcome = kernel.run(extents(1, 32));
  EXPECT_EQ(outcome.status, Status::deadlock);
  EXPECT_THAT(outcome.text, HasSubstr("31 threads waiting in a warp function"));
  EXPECT_THAT(outcome.text, HasSubstr("mask 0xffffffff: 1-31"));
}

TEST(Block, a_write_beyond_dynamic_shared_memory_is_reported) {
  const EmulatedKernel kernel(R"cu(
#include "device/shared.cuh"
template <class Config> __global__ void kernel() { shared_storage<char>()[100 + blockIdx.x * 0] = 1; })cu");
  EXPECT_TRUE(kernel.run(extents(2, 1, 101)).ok());
#ifdef TILEWRIGHT_ASAN
  EXPECT_DEATH(static_cast<void>(kernel.run(extents(2, 1, 100))), "use-after-poison");
#else
  const EmulatedOutcome outcome = kernel.run(extents(2, 1, 100));
  EXPECT_EQ(outcome.status, Status::out_of_bounds);
  EXPECT_THAT(outcome.text,
              HasSubstr("a thread wrote to byte 100 of dynamic shared memory, of which the launch gives 100"));
#endif
}

TEST(Block, an_index_beyond_a_static_array_is_reported) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(int i) {
  __shared__ int values[8];
  values[i] = 1;
})cu");
  EXPECT_TRUE(kernel.run(extents(1, 1), 7).ok());
  const EmulatedOutcome outcome = kernel.run(extents(1, 1), 8);
  EXPECT_EQ(outcome.status, Status::out_of_bounds);
  EXPECT_THAT(outcome.text, HasSubstr("index beyond the end of an array: 8 (kernel.generated.cu:"));
}

}  // namespace
}  // namespace tilewright::test
