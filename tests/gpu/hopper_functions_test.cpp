// SPDX-License-Identifier: Apache-2.0
// The device headers of Hopper's matrix kernels: those that the emulator models, and sums in global memory.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/gpu/device_functions.hpp"

namespace tilewright::test {
namespace {

TEST_F(DeviceFunctions, stmatrix_agrees_and_ldmatrix_is_its_way_back) {
  expect_same(R"cu(
#include "device/ptx/ldmatrix.cuh"
#include "device/ptx/prefetch.cuh"
#include "device/ptx/stmatrix.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(const u32* in, u32* out) {
  u32* shared = shared_storage<u32>();
  const int lane = threadIdx.x;
  ptx::prefetch_l2(in + 4 * lane);
  for (int i = lane; i < 32 * 12; i += 32) shared[i] = 7;
  __syncwarp();
  u32 four[4];
  for (int m = 0; m < 4; ++m) four[m] = in[lane * 4 + m];
  u32* row = shared + lane * 11 % 32 * 12;  // 48 bytes apart, in another order than the lanes
  ptx::stmatrix_x4(row, four);
  __syncwarp();
  for (int i = lane; i < 32 * 12; i += 32) out[i] = shared[i];
  for (int m = 0; m < 4; ++m) four[m] = 0;
  ptx::ldmatrix_x4(four, row);
  for (int m = 0; m < 4; ++m) out[384 + lane * 4 + m] = four[m];
})cu",
              {.shared_bytes = 32 * 48}, random_words(128), 512);
}

TEST_F(DeviceFunctions, relaxed_arrivals_end_phases_of_other_blocks_mbarriers) {
  // Each block has a stage, which its neighbour fills once all blocks have read the old content.
  expect_same(R"cu(
#include "device/ptx/cluster.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/ptx/mbarrier_relaxed.cuh"
#include "device/ring.cuh"
#include "device/shared.cuh"
struct Shared {
  u64 value[3];
  u64 full[3], empty[3];
};
template <class Config> __global__ void kernel(const u32* in, u32* out) {
  Shared& shared = *shared_storage<Shared>();
  const u32 rank = ptx::cluster_rank(), size = ptx::cluster_size(), next = (rank + 1) % size;
  if (threadIdx.x == 0) {
    for (int s = 0; s < 3; ++s) {
      ptx::mbarrier_init(&shared.full[s], 1);
      ptx::mbarrier_init(&shared.empty[s], size);
    }
    ptx::fence_mbarrier_init();
  }
  ptx::cluster_sync();
  Ring<3> ring;
  if (threadIdx.x == 32) {
    for (u32 turn = 0; turn < 64; ++turn, ring.advance()) {
      const u32 s = ring.stage;
      ptx::mbarrier_wait(&shared.empty[s], ring.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(&shared.full[s], 8);
      ptx::store_async(ptx::map_shared(&shared.value[s], next), static_cast<u64>(in[rank * 64 + turn]),
                       ptx::map_shared(&shared.full[s], next));
    }
  } else if (threadIdx.x < 32) {
    for (u32 turn = 0; turn < 64; ++turn, ring.advance()) {
      const u32 s = ring.stage;
      ptx::mbarrier_wait<true>(&shared.full[s], ring.parity);
      const u32 value = static_cast<u32>(shared.value[s]);
      if (threadIdx.x == turn % 32) out[(blockIdx.x / size * size + rank) * 64 + turn] = value;
      __syncwarp();
      if (threadIdx.x < size) ptx::mbarrier_arrive_cluster_relaxed(ptx::map_shared(&shared.empty[s], threadIdx.x));
    }
  }
  __syncwarp();
  ptx::cluster_sync();
})cu",
              {.blocks = 8, .threads = 64, .cluster = 4, .shared_bytes = 128}, random_words(4 * 64), 8 * 64);
}

TEST_F(DeviceFunctions, registers_change_hands_between_warpgroups_that_compute) {
  // One warpgroup releases most of its registers; two acquire and use more than a block of 384 threads starts with.
  expect_same(R"cu(
#include "device/ptx/register_count.cuh"
template <class Config> __global__ void __launch_bounds__(384, 1) kernel(const u32* in, u32* out) {
  const u32 t = threadIdx.x;
  if (t / 128 == 0) {
    ptx::release_registers<40>();
    u32 sum = 0;
    for (u32 i = 0; i < 1024; ++i) sum = sum * 3 + in[(t + i) % 1024];
    out[t] = sum;
  } else {
    ptx::acquire_registers<232>();
    u32 state[192];
#pragma unroll
    for (u32 i = 0; i < 192; ++i) state[i] = in[(t + 5 * i) % 1024];
#pragma unroll 1
    for (u32 round = 0; round < 100; ++round) {
      const u32 more = in[round];
#pragma unroll
      for (u32 i = 0; i < 192; ++i) state[i] = (state[i] ^ more) * 3 + state[(i + 7) % 192];
    }
    u32 sum = 0;
#pragma unroll
    for (u32 i = 0; i < 192; ++i) sum = sum * 5 + state[i];
    out[t] = sum;
  }
})cu",
              {.blocks = 2, .threads = 384}, random_words(1024), 384);
}

TEST_F(DeviceFunctions, sums_of_many_blocks_in_the_same_floats_are_complete) {
  // By fours and in bulk, each on floats of its own and both on the same. Integers, so that no order rounds.
  expect_same(R"cu(
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/global_reduce.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(const u32* in, u32* out) {
  float* const shared = shared_storage<float>();
  float* const sums = reinterpret_cast<float*>(out);
  const int t = threadIdx.x;
  float own[4];
  for (int i = 0; i < 4; ++i) {
    own[i] = static_cast<float>(in[(blockIdx.x * 512 + t * 4 + i) % 1000] % 64) - 31.0f;
    shared[t * 4 + i] = own[i];
  }
  ptx::reduce_add(sums + t * 4, own[0], own[1], own[2], own[3]);
  ptx::reduce_add(sums + 1024 + t * 4, own[0], own[1], own[2], own[3]);
  ptx::fence_shared_to_async();
  __syncthreads();
  if (t == 0) {
    ptx::bulk_reduce_add(sums + 512, shared, 2048);
    ptx::bulk_reduce_add(sums + 1024, shared, 2048);
    ptx::bulk_reduce_add(sums + 1536 + blockIdx.x % 8 * 4, shared, 16);
    ptx::bulk_commit();
    ptx::bulk_wait<0>();
  }
})cu",
              {.blocks = 500, .threads = 128, .shared_bytes = 2048}, random_words(1000), 1536 + 32);
}

TEST_F(DeviceFunctions, a_block_that_has_counted_all_others_reads_what_they_wrote) {
  // The first block has the old content in its cache. Fewer blocks than multiprocessors: all run at once.
  constexpr std::size_t kBlocks = 64, kEach = 256;
  run_on_gpu(R"cu(
#include "device/ptx/global_reduce.cuh"
template <class Config> __global__ void kernel(const u32* in, u32* out) {
  u32* const counter = out;
  u32* const written = out + 32;
  u32* const seen = written + 64 * 256;
  const u32 t = threadIdx.x, last = gridDim.x - 1;
  if (blockIdx.x > 0) {
    // Not before the first block has read.
    if (t == 0) {
      while (ptx::load_acquire(counter) == 0) {
      }
    }
    __syncthreads();
    written[blockIdx.x * 256 + t] = in[t] + blockIdx.x;
    __syncthreads();
    if (t == 0) ptx::add_release(counter, 2);
    return;
  }
  u32 old = 0;
  for (u32 i = 1; i <= last; ++i) old |= written[i * 256 + t];
  __syncthreads();
  if (t == 0) {
    ptx::add_release(counter, 1);
    while (ptx::load_acquire(counter) != 1 + 2 * last) {
    }
  }
  __syncthreads();
  for (u32 i = 1; i <= last; ++i) seen[i * 256 + t] = written[i * 256 + t];
  seen[t] = old;
})cu",
             {.blocks = kBlocks, .threads = kEach}, random_words(kEach), 32 + 2 * kBlocks * kEach, {},
             [&](const Words& out) {
               const Words in = random_words(kEach);
               const std::uint32_t* const seen = out.data() + 32 + kBlocks * kEach;
               EXPECT_EQ(out[0], 1 + 2 * (kBlocks - 1));
               std::size_t stale = 0;
               for (std::size_t i = kEach; i < kBlocks * kEach; ++i) {
                 if (seen[i] != in[i % kEach] + i / kEach) ++stale;
               }
               EXPECT_EQ(stale, 0U);
               for (std::size_t i = 0; i < kEach; ++i) EXPECT_EQ(seen[i], 0U) << "was written before it was read";
             });
}

TEST_F(DeviceFunctions, blocks_that_take_turns_add_in_bulk_in_their_order) {
  // Sums of integers of 24 bits, rounded at each step: another order gives other bits. The first block in turn stores,
  // as in the kernels that keep an order. Fewer blocks than multiprocessors: all run at once.
  constexpr std::size_t kBlocks = 64, kEach = 1024;
  const Words in = random_words(kBlocks * kEach);
  run_on_gpu(R"cu(
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/global_reduce.cuh"
#include "device/shared.cuh"
template <class Config> __global__ void kernel(const u32* in, u32* out) {
  float* const shared = shared_storage<float>();
  float* const sums = reinterpret_cast<float*>(out + 32);
  // Blocks start in about the order of their indices: the turns' order is another one.
  const u32 turn = (blockIdx.x * 37 + 11) % 64;
  for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) {
    shared[i] = static_cast<float>(in[turn * 1024 + i] >> 8);
  }
  ptx::fence_shared_to_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    while (ptx::load_acquire(out) != turn) {
    }
    ptx::fence_global_to_async();
    if (turn == 0) {
      ptx::bulk_store(sums, shared, 4096);
    } else {
      ptx::bulk_reduce_add(sums, shared, 4096);
    }
    ptx::bulk_commit();
    ptx::bulk_wait<0>();
    ptx::add_release(out, 1);
  }
})cu",
             {.blocks = kBlocks, .threads = 128, .shared_bytes = 4096}, in, 32 + kEach, {}, [&](const Words& out) {
               std::size_t wrong = 0;
               for (std::size_t i = 0; i < kEach; ++i) {
                 float sum = 0;
                 for (std::size_t turn = 0; turn < kBlocks; ++turn) {
                   sum += static_cast<float>(in[turn * kEach + i] >> 8);
                 }
                 if (out[32 + i] != std::bit_cast<std::uint32_t>(sum)) ++wrong;
               }
               EXPECT_EQ(wrong, 0U) << "of " << kEach << " sums";
             });
}

}  // namespace
}  // namespace tilewright::test
