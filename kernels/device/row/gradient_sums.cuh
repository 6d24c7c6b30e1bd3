// SPDX-License-Identifier: Apache-2.0
#pragma once

// The second kernel of sums over rows: it adds the parts of column_sums.cuh, as exactly as fp32 parts allow. A sum in
// turns would lose as much as the rest of the gradient: here fp32 adds five parts in a tree, fp64 the trees.
//
// A definition launches one of two entries, by the width: norm_gradient.toml has the launches.
//
//   narrow   a column a lane; 1024 threads
//   wide     four columns a lane, if columns are many and whole vectors of four; 256 threads
//
// With early=1 the kernel starts with the first one's rows and waits: the narrow one has 512 threads, and both so few
// registers that they find room beside the first kernel's blocks. sm_80 and later.

#include "device/config.cuh"
#include "device/row/column_sums.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"

namespace tilewright::row {

// value(0) + … + value(kCount − 1), kCount a power of two: fours in fp32, their sums in fp64.
template <int kCount, class Value>
__device__ __forceinline__ float sum_by_fours(const Value& value) {
  static_assert((kCount & (kCount - 1)) == 0, "a power of two");
  if constexpr (kCount == 1) {
    return value(0);
  } else if constexpr (kCount == 2) {
    return value(0) + value(1);
  } else {
    double all = 0.0;
#pragma unroll
    for (int i = 0; i < kCount; i += 4) all += double{(value(i) + value(i + 1)) + (value(i + 2) + value(i + 3))};
    return static_cast<float>(all);
  }
}

template <class Config>
__device__ constexpr bool sums_start_early() {
  if constexpr (requires { Config::early; }) return Config::early != 0;
  return false;
}
// Threads of the narrow kernel, and blocks of both per multiprocessor.
template <class Config>
__device__ constexpr int sum_threads() {
  return sums_start_early<Config>() ? 512 : 1024;
}
inline constexpr int kWideSumThreads = 256;
template <class Config>
__device__ constexpr int sum_blocks() {
  return sums_start_early<Config>() ? 3 : 1;
}

// Warp w takes the parts w, w + kThreads / 32, …; each lane kVec columns, a whole vector at an aligned address. A null
// output is skipped. Shared memory: half of kSums · kThreads · kVec doubles.
template <int kSums, int kVec, int kThreads>
__device__ __forceinline__ void sum_parts(const ColumnPartials& from, float* const (&outputs)[kSums]) {
  constexpr int kAcross = kWarpSize * kVec, kDown = kThreads / kWarpSize, kHalf = kDown / 2, kUnroll = 5;
  static_assert(kSums * kAcross <= kThreads, "each column's last sum has a thread");
  auto* const sums = shared_storage<double>();  // [kSums][kHalf][kAcross]
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize, warp = static_cast<int>(threadIdx.x) / kWarpSize;
  wait_for_partials();
  const i64 parts = *from.parts;
  const i64 down = kDown * from.cols, sum = parts * from.cols;  // strides between a thread's parts, and sums
  for (i64 first = i64{blockIdx.x} * kAcross; first < from.cols; first += i64{gridDim.x} * kAcross) {
    // Add this warp's parts. Loads of all sums are in flight before the first use.
    double mine[kSums][kVec] = {};
    if (first + lane * kVec < from.cols) {
      const float* from_part = from.row(0, warp, parts) + first + lane * kVec;
#pragma unroll 1
      for (i64 left = parts - warp; left > 0; left -= kUnroll * kDown, from_part += kUnroll * down) {
        Vector<float, kVec> loaded[kUnroll][kSums];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
          for (int s = 0; s < kSums; ++s) {
            loaded[u][s] = Vector<float, kVec>{};
            if (u * kDown < left) loaded[u][s] = load_vector<kVec>(from_part + u * down + s * sum);
          }
        }
#pragma unroll
        for (int s = 0; s < kSums; ++s) {
#pragma unroll
          for (int j = 0; j < kVec; ++j) {
            mine[s][j] +=
                double{((loaded[0][s][j] + loaded[1][s][j]) + (loaded[2][s][j] + loaded[3][s][j])) + loaded[4][s][j]};
          }
        }
      }
    }
    // Add the upper half of the warps' sums to the lower half's.
    const auto each = [&](const auto& work) {
#pragma unroll
      for (int s = 0; s < kSums; ++s) {
#pragma unroll
        for (int j = 0; j < kVec; ++j) {
          work(sums[(s * kHalf + warp % kHalf) * kAcross + lane * kVec + j], mine[s][j]);
        }
      }
    };
    if (warp >= kHalf) each([](double& sum, double own) { sum = own; });
    __syncthreads();
    if (warp < kHalf) each([](double& sum, double own) { sum += own; });
    __syncthreads();

    // Add the warps' sums.
    const int column = static_cast<int>(threadIdx.x) % kAcross;
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
      const bool is_own = static_cast<int>(threadIdx.x) / kAcross == s;
      if (!is_own || first + column >= from.cols || outputs[s] == nullptr) continue;
      double even = 0.0, odd = 0.0;
#pragma unroll
      for (int d = 0; d < kHalf; d += 2) {
        even += sums[(s * kHalf + d) * kAcross + column];
        odd += sums[(s * kHalf + d + 1) * kAcross + column];
      }
      outputs[s][first + column] = static_cast<float>(even + odd);
    }
    __syncthreads();
  }
}

}  // namespace tilewright::row
