// SPDX-License-Identifier: Apache-2.0
// Clusters: blocks that run together and access each other's shared memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test {
namespace {

using ::testing::HasSubstr;
using Status = EmulatedOutcome::Status;

EmulatedLaunch clusters(unsigned blocks, unsigned threads, unsigned cluster, std::size_t shared_bytes,
                        std::uint64_t seed = 0) {
  EmulatedLaunch launch = extents(blocks, threads, shared_bytes);
  launch.cluster = {cluster, 1, 1};
  launch.seed = seed;
  return launch;
}

/// Each block sums its part, and each block of a cluster reads the others' sums.
std::string reduction(const std::string& before, const std::string& after) {
  return R"cu(
#include "device/ptx/cluster.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(const float* x, float* sums) {
  __shared__ float partial[32];
  float* mine = shared_storage<float>();
  float sum = x[blockIdx.x * blockDim.x + threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    mine[0] = 0;
    for (int i = 0; i < blockDim.x / 32; ++i) mine[0] += partial[i];
  }
  )cu" + before +
         R"cu(;
  if (threadIdx.x == 0) {
    float total = 0;
    for (u32 rank = 0; rank < ptx::cluster_size(); ++rank) total += *ptx::map_shared(mine, rank);
    sums[blockIdx.x] = total;
  }
  )cu" + after +
         ";\n}\n";
}

std::vector<float> cluster_sums(const EmulatedKernel& kernel, std::uint64_t seed) {
  std::vector<float> x(16 * 64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 11);
  std::vector<float> sums(16);
  EXPECT_EQ(kernel.run(clusters(16, 64, 4, 16, seed), static_cast<const float*>(x.data()), sums.data()).text, "");
  return sums;
}

TEST(Cluster, distributed_shared_memory_reduces_over_the_blocks_of_a_cluster) {
  const EmulatedKernel kernel(reduction("ptx::cluster_sync()", "ptx::cluster_sync()"));
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const std::vector<float> sums = cluster_sums(kernel, seed);
    for (std::size_t block = 0; block < 16; ++block) {
      float expected = 0;
      for (std::size_t i = block / 4 * 256; i < (block / 4 + 1) * 256; ++i) expected += static_cast<float>(i % 11);
      EXPECT_EQ(sums[block], expected) << block;
    }
  }
}

TEST(Cluster, a_missing_cluster_barrier_before_reading_shows_as_poison) {
  const EmulatedKernel kernel(reduction("__syncthreads()", "ptx::cluster_sync()"));
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    int poisoned = 0;
    for (const float sum : cluster_sums(kernel, seed)) poisoned += std::isnan(sum) ? 1 : 0;
    EXPECT_GT(poisoned, 0);
  }
}

TEST(Cluster, a_block_that_exits_before_its_readers_shows_as_poison) {
  const EmulatedKernel kernel(reduction("ptx::cluster_sync()", "static_cast<void>(0)"));
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    int poisoned = 0;
    for (const float sum : cluster_sums(kernel, seed)) poisoned += std::isnan(sum) ? 1 : 0;
    EXPECT_GT(poisoned, 0);
  }
}

TEST(Cluster, ranks_follow_the_position_in_the_cluster) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/cluster.cuh"
template <class Config> __global__ void kernel(int* out) {
  out[blockIdx.x + 4 * blockIdx.y] = ptx::cluster_rank() * 10 + ptx::cluster_size();
})cu");
  EmulatedLaunch launch;
  launch.grid = {4, 2, 1};
  launch.cluster = {2, 2, 1};
  std::vector<int> out(8);
  ASSERT_EQ(kernel.run(launch, out.data()).text, "");
  EXPECT_THAT(out, testing::ElementsAre(4, 14, 4, 14, 24, 34, 24, 34));
}

TEST(Cluster, values_sent_with_their_bytes_counted_need_no_other_barrier) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/cluster.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/shared.cuh"
struct Shared {
  u64 barrier;
  u64 received[8];
};
template <class Config> __global__ void kernel(u64* out) {
  Shared& shared = *shared_storage<Shared>();
  const u32 rank = ptx::cluster_rank(), size = ptx::cluster_size();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&shared.barrier, 1);
    ptx::mbarrier_arrive_expect_tx(&shared.barrier, 8 * size);
    ptx::fence_mbarrier_init();
  }
  ptx::cluster_sync();
  if (threadIdx.x < size) {
    ptx::store_async(ptx::map_shared(&shared.received[rank], threadIdx.x), static_cast<u64>(100 * rank + threadIdx.x),
                     ptx::map_shared(&shared.barrier, threadIdx.x));
  }
  ptx::mbarrier_wait<true>(&shared.barrier, 0);
  if (threadIdx.x < size) out[blockIdx.x * size + threadIdx.x] = shared.received[threadIdx.x];
  ptx::cluster_sync();
})cu");
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<unsigned long long> out(8 * 8);
    ASSERT_EQ(kernel.run(clusters(8, 32, 8, 72, seed), out.data()).text, "");
    for (unsigned block = 0; block < 8; ++block) {
      for (unsigned from = 0; from < 8; ++from) EXPECT_EQ(out[block * 8 + from], 100 * from + block);
    }
  }
}

TEST(Cluster, bulk_copies_and_remote_arrivals_reach_the_neighbour) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/cluster.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/shared.cuh"
struct Shared {
  alignas(16) float own[32];
  alignas(16) float theirs[32];
  u64 barrier;
};
template <class Config> __global__ void kernel(float* out) {
  Shared& shared = *shared_storage<Shared>();
  const u32 other = ptx::cluster_rank() ^ 1;
  shared.own[threadIdx.x] = 100.0f * ptx::cluster_rank() + threadIdx.x;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&shared.barrier, 2);
    ptx::mbarrier_arrive_expect_tx(&shared.barrier, 128);
  }
  ptx::cluster_sync();
  if (threadIdx.x == 0) {
    ptx::bulk_copy_to_cluster(ptx::map_shared(&shared.theirs[0], other), shared.own, 128,
                              ptx::map_shared(&shared.barrier, other));
    ptx::mbarrier_arrive_cluster(ptx::map_shared(&shared.barrier, other));
  }
  ptx::mbarrier_wait<true>(&shared.barrier, 0);
  out[blockIdx.x * 32 + threadIdx.x] = shared.theirs[threadIdx.x];
  u32* word = reinterpret_cast<u32*>(shared.own);
  ptx::cluster_sync();
  ptx::store_cluster(ptx::map_shared(word + threadIdx.x, other), __float_as_uint(threadIdx.x + 0.5f));
  ptx::cluster_sync();
  out[64 + blockIdx.x * 32 + threadIdx.x] = shared.own[threadIdx.x];
  out[128 + blockIdx.x * 32 + threadIdx.x] =
      __uint_as_float(ptx::load_cluster(ptx::map_shared(word + threadIdx.x, other)));
  ptx::cluster_sync();
})cu");
  std::vector<float> out(192);
  ASSERT_EQ(kernel.run(clusters(2, 32, 2, 512), out.data()).text, "");
  for (std::size_t block = 0; block < 2; ++block) {
    for (std::size_t i = 0; i < 32; ++i) {
      EXPECT_EQ(out[block * 32 + i], 100.0f * static_cast<float>(1 - block) + static_cast<float>(i));
      EXPECT_EQ(out[64 + block * 32 + i], static_cast<float>(i) + 0.5f);
      EXPECT_EQ(out[128 + block * 32 + i], static_cast<float>(i) + 0.5f);
    }
  }
}

TEST(Cluster, relaxed_arrivals_end_a_phase_of_another_blocks_mbarrier) {
  // Each block has a stage that the other fills, once both have read its content.
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/cluster.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/ptx/mbarrier_relaxed.cuh"
#include "device/shared.cuh"
struct Shared {
  u64 value;
  u64 full, empty;
};
template <class Config> __global__ void kernel(u64* out) {
  Shared& shared = *shared_storage<Shared>();
  const u32 rank = ptx::cluster_rank(), size = ptx::cluster_size(), next = (rank + 1) % size;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&shared.full, 1);
    ptx::mbarrier_init(&shared.empty, size);
  }
  ptx::cluster_sync();
  for (u32 turn = 0; turn < 5; ++turn) {
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(&shared.full, 8);
      ptx::mbarrier_wait(&shared.empty, (turn & 1) ^ 1);
      ptx::store_async(ptx::map_shared(&shared.value, next), u64{100 * turn + rank}, ptx::map_shared(&shared.full, next));
    }
    ptx::mbarrier_wait<true>(&shared.full, turn & 1);
    if (threadIdx.x == 0) out[blockIdx.x * 5 + turn] = shared.value;
    __syncthreads();
    if (threadIdx.x < size) ptx::mbarrier_arrive_cluster_relaxed(ptx::map_shared(&shared.empty, threadIdx.x));
  }
  ptx::cluster_sync();
})cu");
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<unsigned long long> out(4 * 5);
    ASSERT_EQ(kernel.run(clusters(4, 32, 4, 64, seed), out.data()).text, "");
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], 100 * (i % 5) + (i / 5 + 3) % 4);
  }
}

TEST(Cluster, static_shared_memory_is_each_blocks_own_and_not_reachable_from_others) {
  const EmulatedKernel own(R"cu(
#include "device/ptx/cluster.cuh"
template <class Config> __global__ void kernel(int* out) {
  __shared__ int value;
  if (threadIdx.x == 0) value = 10 * blockIdx.x;
  ptx::cluster_sync();
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
})cu");
  std::vector<int> out(4 * 32);
  ASSERT_EQ(own.run(clusters(4, 32, 4, 0), out.data()).text, "");
  for (int i = 0; i < 128; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], i / 32 * 10);

  const EmulatedKernel reaching(R"cu(
#include "device/ptx/cluster.cuh"
template <class Config> __global__ void kernel(int* out) {
  __shared__ int value;
  *out = *ptx::map_shared(&value, 1);
})cu");
  const EmulatedOutcome outcome = reaching.run(clusters(2, 1, 2, 0), out.data());
  EXPECT_EQ(outcome.status, Status::unsupported);
  EXPECT_THAT(outcome.text, HasSubstr("only dynamic shared memory can be reached from another block"));
}

TEST(Cluster, a_wait_without_an_arrive_and_a_rank_that_is_not_there_are_reported) {
  const EmulatedKernel waiting(R"cu(
#include "device/ptx/cluster.cuh"
template <class Config> __global__ void kernel() { ptx::cluster_wait(); })cu");
  EXPECT_THAT(waiting.run(clusters(2, 1, 2, 0)).text, HasSubstr("a cluster wait with no arrive before"));
  const EmulatedKernel beyond(R"cu(
#include "device/ptx/cluster.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel() { *ptx::map_shared(shared_storage<int>(), 2) = 1; })cu");
  EXPECT_THAT(beyond.run(clusters(2, 1, 2, 16)).text, HasSubstr("no block of the cluster has this rank"));
}

TEST(Cluster, a_block_that_never_arrives_is_a_deadlock_listed_block_by_block) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/barrier.cuh"
#include "device/ptx/cluster.cuh"
template <class Config> __global__ void kernel() {
  if (blockIdx.x == 1) ptx::barrier_sync(1, 64);
  ptx::cluster_sync();
})cu");
  const EmulatedOutcome outcome = kernel.run(clusters(2, 32, 2, 0));
  EXPECT_EQ(outcome.status, Status::deadlock);
  EXPECT_THAT(outcome.text, HasSubstr("block (0,0,0):\n  32 threads waiting at the cluster's barrier"));
  EXPECT_THAT(outcome.text, HasSubstr("block (1,0,0):\n  32 threads waiting at barrier 1"));
}

TEST(Cluster, blocks_that_exit_do_not_hold_up_the_barrier) {
  const EmulatedKernel kernel(R"cu(
#include "device/ptx/cluster.cuh"
template <class Config> __global__ void kernel(int* done) {
  if (blockIdx.x == 1) return;
  ptx::cluster_arrive();
  ptx::cluster_wait();
  atomicAdd(done, 1);
})cu");
  int done = 0;
  ASSERT_EQ(kernel.run(clusters(2, 64, 2, 0), &done).text, "");
  EXPECT_EQ(done, 64);
}

}  // namespace
}  // namespace tilewright::test
