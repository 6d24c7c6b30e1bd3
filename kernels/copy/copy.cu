// SPDX-License-Identifier: Apache-2.0
//
// y[i] = a[i], or a[i] + b[i], or a[i] + b[i] + c[i], for i in [0, n): the fastest way to read 1, 2 or 3 bytes for each
// byte written. A plain copy keeps the bits of its elements; sums are in fp32. All loads of a tile are in flight before
// its first store.
//
//   tile    | thread 0 … thread T-1 | thread 0 … thread T-1 | …   unroll times, kVec elements each
//
// Shared memory: none. sm_80 and later.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/vector.cuh"

namespace copy {

template <class Config>
inline constexpr int kReads = Config::reads == "1"   ? 1
                              : Config::reads == "2" ? 2
                                                     : 3;

// The sum of one vector of each input.
template <class T, int kReads, int N>
__device__ __forceinline__ tilewright::Vector<T, N> sum(const tilewright::Vector<T, N> (&inputs)[kReads]) {
  using namespace tilewright;
  if constexpr (kReads == 1) {
    return inputs[0];
  } else {
    float total[N];
    to_float(inputs[0], total);
#pragma unroll
    for (int input = 1; input < kReads; ++input) {
      float values[N];
      to_float(inputs[input], values);
#pragma unroll
      for (int j = 0; j < N; ++j) total[j] += values[j];
    }
    return from_float<T>(total);
  }
}

}  // namespace copy

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    copy_vector(const typename Config::dtype* a, const typename Config::dtype* b, const typename Config::dtype* c,
                typename Config::dtype* y, long long n) {
  using namespace tilewright;
  using T = typename Config::dtype;
  constexpr int kVec = Config::vec;
  constexpr int kReads = copy::kReads<Config>;
  constexpr int kThreads = Config::num_warps * kWarpSize;
  constexpr i64 kTile = i64{kThreads} * kVec * Config::unroll;
  constexpr Load kLoad = Config::streaming == 2 ? Load::kStreaming : Load::kDefault;
  constexpr Store kStore = Config::streaming != 0 ? Store::kStreaming : Store::kDefault;
  static_assert(kVec == 1 || kVec * sizeof(T) == 16, "a vector has 16 bytes, or is one element");

  const T* const inputs[3] = {a, b, c};
  const auto load = [&](Vector<T, kVec>(&vectors)[kReads], i64 i) {
#pragma unroll
    for (int input = 0; input < kReads; ++input) vectors[input] = load_vector<kVec, kLoad>(inputs[input] + i);
  };

  for (i64 tile = i64{blockIdx.x} * kTile; tile < n; tile += i64{gridDim.x} * kTile) {
    const i64 first = tile + i64{threadIdx.x} * kVec;

    // A whole tile needs no tests.
    if (tile + kTile <= n) {
      Vector<T, kVec> vectors[Config::unroll][kReads];
#pragma unroll
      for (int u = 0; u < Config::unroll; ++u) load(vectors[u], first + i64{u} * kThreads * kVec);
#pragma unroll
      for (int u = 0; u < Config::unroll; ++u) {
        store_vector<kStore>(y + first + i64{u} * kThreads * kVec, copy::sum<T, kReads>(vectors[u]));
      }
      continue;
    }

    // The last tile: whole vectors, then the elements of a partial one.
    for (int u = 0; u < Config::unroll; ++u) {
      const i64 i = first + i64{u} * kThreads * kVec;
      if (i + kVec <= n) {
        Vector<T, kVec> vectors[kReads];
        load(vectors, i);
        store_vector<kStore>(y + i, copy::sum<T, kReads>(vectors));
        continue;
      }
      for (i64 j = i; j < n; ++j) {
        Vector<T, 1> elements[kReads];
        for (int input = 0; input < kReads; ++input) elements[input][0] = inputs[input][j];
        y[j] = copy::sum<T, kReads>(elements)[0];
      }
    }
  }
}

template <class Config>
__global__ void copy_reference(const typename Config::dtype* a, const typename Config::dtype* b,
                               const typename Config::dtype* c, double* y, long long n) {
  using namespace tilewright;
  constexpr int kReads = copy::kReads<Config>;
  const i64 stride = i64{gridDim.x} * blockDim.x;
  for (i64 i = i64{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    double total = double{to_float(a[i])};
    if constexpr (kReads > 1) total += double{to_float(b[i])};
    if constexpr (kReads > 2) total += double{to_float(c[i])};
    y[i] = total;
  }
}
