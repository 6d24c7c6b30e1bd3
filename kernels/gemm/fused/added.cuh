// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sums of the norms behind a gemm, s = a · bᵀ + bias + residual, and the norm of s's rows as a kernel behind them,
// which may start while they end and then waits for them.

#include "config.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/row/norm.cuh"
#include "device/row/onchip.cuh"
#include "device/row/streaming.cuh"

namespace tilewright::gemm {

// What gemm computes with a residual.
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

// How the rows are read, by Config::norm:
//
//   0             256 threads a row, twice: any width and address
//   4             a warp a row, into registers: 1 to 4 vectors a lane
//   10, 12, 16    128 threads a row, into registers: 2, up to 4, or up to 8 vectors a thread
//
// A binary serves all widths of its line, so that few of them serve all widths.
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

// Rows in registers, in as many vectors as hold one.
template <class Config, int kChunks, class Op>
__device__ __forceinline__ void rows_onchip(const Op& op, i64 rows, i64 cols) {
  using Rows = RowsOf<Config, kChunks>;
  if constexpr (kChunks < Rows::kMostChunks) {
    constexpr i64 kHeld = i64{kChunks} * Rows::vec * Rows::num_warps * kWarpSize / Rows::rows_per_block;
    if (cols > kHeld) return rows_onchip<Config, kChunks + 1>(op, rows, cols);
  }
  row::onchip<Rows>(op, rows, cols);
}

// y = norm(s), the last rows first: those that L2 has. `Statistics` says which norm (device/row/norm.cuh); only one has
// a bias.
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
