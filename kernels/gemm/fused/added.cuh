// SPDX-License-Identifier: Apache-2.0
#pragma once

// s = a · bᵀ + bias + residual, the sums of the norms behind a gemm, and the norm of s's rows as a second kernel, which
// may start before the first ends and then waits for it.

#include "config.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/row/norm.cuh"
#include "device/row/onchip.cuh"
#include "device/row/streaming.cuh"

namespace tilewright::gemm {

// gemm with a residual and without activation.
template <class Config>
struct Added : Linear<Config> {
  static constexpr Name act{"none"}, residual{"yes"};
};

__device__ __forceinline__ void let_rows_start() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  ptx::grid_launch_dependents();
#endif
}
__device__ __forceinline__ void wait_for_sums() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  ptx::grid_dependency_wait();
#endif
}

// How rows are read, by Config::norm:
//
//   0             256 threads per row, two passes: any width and address
//   4             a warp per row, in registers: 1 to 4 vectors a lane
//   10, 12, 16    128 threads per row, in registers: 2, up to 4, or up to 8 vectors a thread
//
// One binary serves all widths of its line, so few binaries serve all widths.
template <class Config, int kChunks = 1>
struct RowsOf {
  using dtype = typename Config::dtype;
  enum : bool { kOnchip = Config::norm > 0, kByWarps = Config::norm == 4 };
  enum : int {
    kMostChunks = kByWarps ? 4 : Config::norm - 8,
    kLeastChunks = kByWarps ? 1 : kMostChunks / 2 + 1,
  };
  static constexpr int num_warps = kOnchip ? 4 : 8;
  static constexpr int rows_per_block = kByWarps ? 4 : 1;
  static constexpr int vec = kOnchip ? 8 : 4;
  static constexpr int chunks = kChunks;
  static constexpr int ragged = kOnchip ? 0 : 1;
  static constexpr int unroll = 1;
  static constexpr int early_columns = 2;
  static constexpr long long cols = 0;
};

// Rows in registers, in the fewest vectors that hold one.
template <class Config, int kChunks, class Op>
__device__ __forceinline__ void rows_onchip(const Op& op, i64 rows, i64 cols) {
  using Rows = RowsOf<Config, kChunks>;
  if constexpr (kChunks < Rows::kMostChunks) {
    constexpr i64 kHeld = i64{kChunks} * Rows::vec * Rows::num_warps * kWarpSize / Rows::rows_per_block;
    if (cols > kHeld) return rows_onchip<Config, kChunks + 1>(op, rows, cols);
  }
  row::onchip<Rows>(op, rows, cols);
}

// y = norm(s), the last rows first: L2 still has them. `Statistics` selects the norm (device/row/norm.cuh); only the
// layer norm has a bias.
template <class Config, class Statistics>
__device__ __forceinline__ void norm_rows(const typename Config::dtype* s, const typename Config::dtype* weight,
                                          const typename Config::dtype* norm_bias, typename Config::dtype* y, float eps,
                                          i64 rows, i64 cols) {
  constexpr row::NormParts kParts{.bias = is_same<Statistics, row::Moments>};
  row::Norm<typename Config::dtype, Statistics, kParts> op;
  op.tensors.inputs[0] = {s + (rows - 1) * cols, -cols};
  op.tensors.columns[0] = weight;
  if constexpr (kParts.bias) op.tensors.columns[1] = norm_bias;
  op.tensors.outputs[0] = {y + (rows - 1) * cols, -cols};
  op.eps = eps;
  wait_for_sums();
  if constexpr (RowsOf<Config>::kOnchip) {
    rows_onchip<Config, RowsOf<Config>::kLeastChunks>(op, rows, cols);
  } else {
    row::streaming<RowsOf<Config>>(op, rows, cols);
  }
}

}  // namespace tilewright::gemm
