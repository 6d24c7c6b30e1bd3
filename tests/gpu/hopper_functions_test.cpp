// SPDX-License-Identifier: Apache-2.0
// The device headers of Hopper's matrix kernels that the emulator models.
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

}  // namespace
}  // namespace tilewright::test
