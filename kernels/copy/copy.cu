// SPDX-License-Identifier: Apache-2.0
//
// y[i] = x[i] for i in [0, n). A block copies tiles of threads × unroll vectors; all loads of a tile are in flight before
// its first store.
//
//   tile    | thread 0 … thread T-1 | thread 0 … thread T-1 | …   unroll times, kVec elements each
//
// Shared memory: none. sm_80 and later.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/vector.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    copy_vector(const typename Config::dtype* x, typename Config::dtype* y, long long n) {
  using namespace tilewright;
  using T = typename Config::dtype;
  constexpr int kVec = Config::vec;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  constexpr i64 kTile = i64{kThreads} * kVec * Config::unroll;
  constexpr Load kLoad = Config::streaming ? Load::kStreaming : Load::kDefault;
  constexpr Store kStore = Config::streaming ? Store::kStreaming : Store::kDefault;
  static_assert(kVec == 1 || kVec * sizeof(T) == 16, "a vector has 16 bytes, or is one element");

  for (i64 tile = i64{blockIdx.x} * kTile; tile < n; tile += i64{gridDim.x} * kTile) {
    const i64 first = tile + i64{threadIdx.x} * kVec;

    // A whole tile: no tests.
    if (tile + kTile <= n) {
      Vector<T, kVec> vectors[Config::unroll];
#pragma unroll
      for (int u = 0; u < Config::unroll; ++u) {
        vectors[u] = load_vector<kVec, kLoad>(x + first + i64{u} * kThreads * kVec);
      }
#pragma unroll
      for (int u = 0; u < Config::unroll; ++u) {
        store_vector<kStore>(y + first + i64{u} * kThreads * kVec, vectors[u]);
      }
      continue;
    }

    // The last tile, by elements.
    for (int u = 0; u < Config::unroll; ++u) {
      for (int j = 0; j < kVec; ++j) {
        const i64 i = first + i64{u} * kThreads * kVec + j;
        if (i < n) y[i] = x[i];
      }
    }
  }
}

template <class Config>
__global__ void copy_reference(const typename Config::dtype* x, double* y, long long n) {
  using namespace tilewright;
  const i64 stride = i64{gridDim.x} * blockDim.x;
  for (i64 i = i64{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) y[i] = double{to_float(x[i])};
}
