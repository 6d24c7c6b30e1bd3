// SPDX-License-Identifier: Apache-2.0
#pragma once

// The skeleton of ops on dense matrices that treats y as one row of vectors: y[r][c] = f(x[r][c], b, r, c), with b =
// bias[c] or up[r][c]. dense.toml beside it has the space and the launch formulas.
//
//   tile    | thread 0 … thread T-1 | thread 0 … thread T-1 | …   unroll times, kVec elements each
//
// No lane idles, whatever the width, and there are no edges: a vector lies within a row (cols % vec = 0), or vec is 1
// and a warp takes neighbouring elements. Row and column follow from the index by a division: a multiplication and a
// shift even if cols is not constant (static_dims = 0). Indices have 32 bits, which makes small matrices fast.
// tiled.cuh serves row pitches, any address, and a bias that is loaded once.
//
// The function object is that of tiled.cuh. y may be x itself, element by element.

#include "device/divide.cuh"
#include "device/elementwise/tiled.cuh"

namespace tilewright::elementwise {

// One of kMatrices dense matrices, each as wide as y, whose rows lie side by side.
template <class T, int kMatrices>
struct SideBySide {
  const T* begin;
};

// `other` is a bias, or lies beside x. `across_inverse` is the inverse of a row's vectors (device/divide.cuh).
template <class Config, int kMatrices, class T, class Other, class Function>
__device__ __forceinline__ void dense(SideBySide<T, kMatrices> x, Other other, T* y, i64 rows, i64 width,
                                      i64 across_inverse, const Function& function) {
  constexpr u32 kVec = Config::vec;
  constexpr u32 kThreads = Config::num_warps * kWarpSize;
  constexpr u32 kTile = kThreads * Config::unroll;
  constexpr bool kBias = is_same<Other, Bias<T>>;
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");
  static_assert(Config::cols % kVec == 0, "rows are whole vectors");

  const u32 cols = Config::cols ? static_cast<u32>(Config::cols) : static_cast<u32>(width);
  const u32 across = cols / kVec;  // vectors per row
  const u32 vectors = static_cast<u32>(rows) * across;
  const u32 first = blockIdx.x * kTile + threadIdx.x;

  const auto row_of = [=](u32 i) {
    return Config::cols ? i / across : divide_by_inverse(i, static_cast<u64>(across_inverse));
  };

  // Processes vectors from + kThreads · u. Issues all loads before the first use. If x has the layout of y, each
  // address is the first one plus a constant.
  const auto process = [&]<int kCount>(u32 from) {
    const u64 begin = u64{from} * kVec;
    const auto place = [&](int u) -> u64 {
      const u32 i = from + u * kThreads;
      return kMatrices == 1 ? begin + u * kThreads * kVec : i * kVec + row_of(i) * cols * (kMatrices - 1);
    };
    Packed<T, kVec> loaded[kCount];
    Packed<T, kVec> beside[kCount];
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      loaded[u] = load_packed<kVec, kLoadOfFirst<Config>>(x.begin + place(u));
      if constexpr (kBias) {
        const u32 i = from + u * kThreads;
        beside[u] = load_packed<kVec, Load::kConstant>(other.begin + (i - row_of(i) * across) * kVec);
      } else {
        beside[u] = load_packed<kVec, kLoadOfOthers<Config>>(other.begin + place(u));
      }
    }
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      const u32 i = from + u * kThreads;
      float values[kVec];
      float others[kVec];
      to_float(loaded[u], values);
      to_float(beside[u], others);
      function.template apply<static_cast<int>(kVec)>(values, others, row_of(i), (i - row_of(i) * across) * kVec);
      store_vector<kStoreOfY<Config>>(y + begin + u * kThreads * kVec, from_float<T>(values));
    }
  };
  if (first + (Config::unroll - 1) * kThreads < vectors) {
    process.template operator()<Config::unroll>(first);
  } else {
#pragma unroll 1
    for (u32 i = first; i < vectors; i += kThreads) process.template operator()<1>(i);
  }
}

}  // namespace tilewright::elementwise
