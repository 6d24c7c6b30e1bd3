// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums over the rows of a matrix, one per column, in two kernels and in a fixed order: the same bits on every launch.
// The first kernel writes partial sums of groups of rows, and the number of these parts:
//
//   partials   [sums][parts][cols] in fp32
//   parts      one number
//
// The second adds the parts: gradient_sums.cuh.
//
// sm_80 and later; from sm_90 on the second kernel may start before the first has ended.

#include "device/config.cuh"
#include "device/ptx/grid_dependency.cuh"

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

}  // namespace tilewright::row
