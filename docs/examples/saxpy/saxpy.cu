// SPDX-License-Identifier: Apache-2.0
//
// y[i] = alpha * x[i] + y[i] for i in [0, n), in place. A block takes tiles of threads × unroll vectors; all loads of a
// tile are in flight before its first store.
//
//   tile    | thread 0 … thread T-1 | thread 0 … thread T-1 | …   unroll times, vec elements each
//
// Shared memory: none. sm_80 and later.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/vector.cuh"

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    saxpy_stream(const typename Config::dtype* x, typename Config::dtype* y, float alpha, long long n_at_run_time) {
  using namespace tilewright;
  using T = typename Config::dtype;
  constexpr int kVec = Config::vec;
  constexpr int kUnroll = Config::unroll;
  constexpr int kThreads = Config::num_warps * 32;
  constexpr long long kTile = 1LL * kThreads * kVec * kUnroll;
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");
  static_assert(Config::n % kTile == 0, "a constant n is a whole number of tiles");
  const long long n = Config::n ? Config::n : n_at_run_time;

  for (long long tile = blockIdx.x * kTile; tile < n; tile += gridDim.x * kTile) {
    const long long first = tile + 1LL * threadIdx.x * kVec;

    // The last tile, by elements; a constant n has none.
    if constexpr (Config::n == 0) {
      if (tile + kTile > n) {
        for (int u = 0; u < kUnroll; ++u) {
          for (int j = 0; j < kVec; ++j) {
            const long long i = first + u * kThreads * kVec + j;
            if (i < n) y[i] = from_float<T>(fmaf(alpha, to_float(x[i]), to_float(y[i])));
          }
        }
        return;
      }
    }

    // A whole tile: no tests.
    Vector<T, kVec> xs[kUnroll];
    Vector<T, kVec> ys[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      xs[u] = load_vector<kVec>(x + first + u * kThreads * kVec);
      ys[u] = load_vector<kVec>(y + first + u * kThreads * kVec);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (int j = 0; j < kVec; ++j) {
        ys[u][j] = from_float<T>(fmaf(alpha, to_float(xs[u][j]), to_float(ys[u][j])));
      }
      store_vector(y + first + u * kThreads * kVec, ys[u]);
    }
  }
}

// What is right: in fp64. An inout argument holds the input's values when the reference starts.
template <class Config>
__global__ void saxpy_reference(const typename Config::dtype* x, double* y, float alpha, long long n) {
  using namespace tilewright;
  const long long stride = 1LL * gridDim.x * blockDim.x;
  for (long long i = 1LL * blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    y[i] += static_cast<double>(alpha) * static_cast<double>(to_float(x[i]));
  }
}
