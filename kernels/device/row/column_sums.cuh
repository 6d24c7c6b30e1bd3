// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums over the rows of a matrix, a column each, in two kernels and in a fixed order: the same bits on every launch. The
// first leaves partial sums of some of the rows, and how many such there are:
//
//   partials   [sums][parts][cols] in fp32
//   parts      one number
//
// The second, column_sums, adds them: a block has 32 columns, warp w of 32 the parts w, w + 32, …
//
// sm_80 and later; from sm_90 on the second may start before the first has ended.

#include "device/config.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/reduce.cuh"
#include "device/shared.cuh"

namespace tilewright::row {

struct ColumnPartials {
  float* partials;
  i64* parts;
  i64 cols;

  // Of sum `sum`, the partials of part `part`.
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

// Blocks of 1024 threads in the grid [ceil_div(cols, 32)], any number of them; shared memory: 33 · 32 floats. An output
// that is null is left out.
template <int kSums>
__device__ __forceinline__ void column_sums(const ColumnPartials& from, float* const (&outputs)[kSums]) {
  constexpr int kAcross = 32, kDown = 32, kUnroll = 4;
  auto* const sums = shared_storage<float>();
  const int lane = static_cast<int>(threadIdx.x) % kAcross, warp = static_cast<int>(threadIdx.x) / kAcross;
  wait_for_partials();
  const i64 parts = *from.parts;
  for (i64 first = i64{blockIdx.x} * kAcross; first < from.cols; first += i64{gridDim.x} * kAcross) {
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
      float mine[kUnroll] = {};
      if (first + lane < from.cols) {
        const float* const column = from.row(s, 0, parts) + first + lane;
        i64 part = warp;
        for (; part + (kUnroll - 1) * kDown < parts; part += kUnroll * kDown) {
#pragma unroll
          for (int u = 0; u < kUnroll; ++u) mine[u] += column[(part + u * kDown) * from.cols];
        }
        for (; part < parts; part += kDown) mine[0] += column[part * from.cols];
      }
      // Turned over, so that a warp has a column.
      sums[lane * (kDown + 1) + warp] = (mine[0] + mine[1]) + (mine[2] + mine[3]);
      __syncthreads();
      const float sum = reduce_lanes<kDown>(sums[warp * (kDown + 1) + lane], Sum{});
      if (lane == 0 && first + warp < from.cols && outputs[s] != nullptr) outputs[s][first + warp] = sum;
      __syncthreads();
    }
  }
}

}  // namespace tilewright::row
