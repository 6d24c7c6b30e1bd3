// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums over the rows of a matrix, one per column, in two kernels and in a fixed order: the same bits on every launch.
// The first kernel writes partial sums of groups of rows, and the number of these parts:
//
//   partials   [sums][parts][cols] in fp32
//   parts      one number
//
// The second, column_sums, adds the parts. A block takes a group of columns, each of its warps some of the parts.
//
// sm_80 and later; from sm_90 on the second kernel may start before the first has ended.

#include "device/config.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"

namespace tilewright::row {

struct ColumnPartials {
  float* partials;
  i64* parts;
  i64 cols;

  // The row of partials of sum `sum` and part `part`.
  __device__ __forceinline__ float* row(int sum, i64 part, i64 part_count) const {
    return partials + (sum * part_count + part) * cols;
  }
};

__device__ __forceinline__ void let_column_sums_start() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  ptx::grid_launch_dependents();
#endif
}

__device__ __forceinline__ void wait_for_partials() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  ptx::grid_dependency_wait();
#endif
}

// Adds the parts by kThreads threads: warp w takes the parts w, w + kThreads / 32, …; each lane takes kVec columns, a
// whole vector at an aligned address.
template <int kSums, int kVec, int kThreads>
__device__ __forceinline__ void sum_columns(const ColumnPartials& from, float* const (&outputs)[kSums]) {
  constexpr int kAcross = kWarpSize * kVec, kDown = kThreads / kWarpSize, kUnroll = 5;
  auto* const sums = shared_storage<float>();  // [kSums][kDown][kAcross]
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize, warp = static_cast<int>(threadIdx.x) / kWarpSize;
  wait_for_partials();
  const i64 parts = *from.parts;
  const i64 down = kDown * from.cols, sum = parts * from.cols;  // strides between a thread's parts, and sums
  for (i64 first = i64{blockIdx.x} * kAcross; first < from.cols; first += i64{gridDim.x} * kAcross) {
    // Add this warp's parts. Loads of all sums are in flight before the first use.
    float mine[kSums][kVec] = {};
    if (first + lane * kVec < from.cols) {
      const float* from_part = from.row(0, warp, parts) + first + lane * kVec;
      const auto add = [&](i64 left) {
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
        for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
          for (int s = 0; s < kSums; ++s) {
#pragma unroll
            for (int j = 0; j < kVec; ++j) mine[s][j] += loaded[u][s][j];
          }
        }
      };
#pragma unroll 1
      for (i64 left = parts - warp; left > 0; left -= kUnroll * kDown, from_part += kUnroll * down) add(left);
    }
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
#pragma unroll
      for (int j = 0; j < kVec; ++j) sums[(s * kDown + warp) * kAcross + lane * kVec + j] = mine[s][j];
    }
    __syncthreads();
    const int column = static_cast<int>(threadIdx.x) % kAcross;
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
      const bool is_own = static_cast<int>(threadIdx.x) / kAcross == s;
      if (!is_own || first + column >= from.cols || outputs[s] == nullptr) continue;
      float all = sums[s * kDown * kAcross + column];
#pragma unroll
      for (int d = 1; d < kDown; ++d) all += sums[(s * kDown + d) * kAcross + column];
      outputs[s][first + column] = all;
    }
    __syncthreads();
  }
}

// The second kernel. Any number of blocks take groups of columns in turns: 128 columns by 256 threads if columns are
// many and whole vectors of four, else 32 columns by kColumnSumThreads threads. Shared memory: kSums · 1024 floats. A
// null output is skipped.
inline constexpr int kColumnSumThreads = 1024;

template <int kSums>
__device__ __forceinline__ void column_sums(const ColumnPartials& from, float* const (&outputs)[kSums]) {
  if (blockDim.x == kColumnSumThreads) {
    sum_columns<kSums, 1, kColumnSumThreads>(from, outputs);
  } else {
    sum_columns<kSums, 4, 256>(from, outputs);
  }
}

}  // namespace tilewright::row
