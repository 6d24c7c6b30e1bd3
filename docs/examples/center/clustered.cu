// SPDX-License-Identifier: Apache-2.0
//
// center in two kernels, for sm_90 and later. center_means: a block sums tiles of tile_rows × 32 columns that a tensor
// map brings; a cluster adds its blocks' sums through shared memory; the last cluster of a strip adds the clusters' in
// their order, so that each run gives the same bits. center_subtract reads x again, from L2 where it fits.
//
// Shared memory: a tile, the sums of 4 warps, an mbarrier.

#include "device/config.cuh"
#include "device/ptx/cluster.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/ptx/tensor_copy.cuh"
#include "device/shared.cuh"

template <class Config>
struct CenterShared {
  alignas(128) float tile[Config::tile_rows][32];
  float sums[4][32];
  tilewright::u64 loaded;
};

template <class Config>
__global__ void __launch_bounds__(128) center_means(const __grid_constant__ tilewright::TensorMap x, float* partial,
                                                    unsigned* finished, float* means, long long rows, long long cols) {
  using namespace tilewright;
  CenterShared<Config>& shared = *shared_storage<CenterShared<Config>>();
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const long long strip = blockIdx.x;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&shared.loaded, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  // The second kernel may come as soon as there is room; it waits for this one's end before it reads.
  ptx::grid_launch_dependents();

  // Every block of the strip takes every so-many-th tile. Rows and columns beyond the matrix read as zeros.
  const long long tiles = (rows + Config::tile_rows - 1) / Config::tile_rows;
  float sum = 0.0f;
  u32 parity = 0;
  for (long long tile = blockIdx.y; tile < tiles; tile += gridDim.y) {
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(&shared.loaded, sizeof shared.tile);
      ptx::tensor_load(shared.tile, x, static_cast<i32>(strip * 32), static_cast<i32>(tile * Config::tile_rows),
                       &shared.loaded);
    }
    ptx::mbarrier_wait(&shared.loaded, parity);
    parity ^= 1;
#pragma unroll 8
    for (int r = warp; r < Config::tile_rows; r += 4) sum += shared.tile[r][lane];
    __syncthreads();
  }
  shared.sums[warp][lane] = sum;

  // The cluster's sums, by one warp of its first block; no block ends while its shared memory is read.
  ptx::cluster_sync();
  const long long part = blockIdx.y / Config::cluster;
  if (ptx::cluster_rank() == 0 && warp == 0) {
    float whole = 0.0f;
    for (u32 rank = 0; rank < Config::cluster; ++rank) {
      const float(*const sums)[32] = ptx::map_shared(shared.sums, rank);
      for (int w = 0; w < 4; ++w) whole += sums[w][lane];
    }
    partial[(strip * Config::parts + part) * 32 + lane] = whole;
    __threadfence();
    __syncwarp();
    // The last to count has all the others' sums before it, and leaves the counter as it was: zero.
    unsigned others = 0;
    if (lane == 0) others = atomicAdd(&finished[strip], 1u);
    if (__shfl_sync(kFullMask, others, 0) == Config::parts - 1) {
      __threadfence();
      float total = 0.0f;
      for (int p = 0; p < Config::parts; ++p) {
        total += *static_cast<volatile float*>(&partial[(strip * Config::parts + p) * 32 + lane]);
      }
      means[strip * 32 + lane] = total / static_cast<float>(rows);
      if (lane == 0) finished[strip] = 0;
    }
  }
  ptx::cluster_sync();
}

template <class Config>
__global__ void __launch_bounds__(256)
    center_subtract(const float* x, float* y, const float* means, long long rows, long long cols) {
  tilewright::ptx::grid_dependency_wait();
  const long long stride = 256LL * gridDim.x;
  for (long long i = 256LL * blockIdx.x + threadIdx.x; i < rows * cols; i += stride) y[i] = x[i] - means[i % cols];
}
