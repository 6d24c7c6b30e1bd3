// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sums of the norms behind a gemm, s = a · bᵀ + bias + residual, and the norm of s's rows as a kernel behind them, which may
// start while they end and then waits for them.

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
//   0         256 threads a row, twice: any width and address
//   1 … 8     a warp a row, into registers: so many vectors a lane
//   9 … 16    128 threads a row, into registers: 8 fewer vectors a thread
template <class Config>
struct RowsOf {
  using dtype = typename Config::dtype;
  enum : bool { kOnchip = Config::norm > 0, kByWarps = kOnchip && Config::norm <= 8 };
  static constexpr int num_warps = kOnchip ? 4 : 8;
  static constexpr int rows_per_block = kByWarps ? 4 : 1;
  static constexpr int vec = kOnchip ? 8 : 4;
  static constexpr int chunks = kByWarps ? Config::norm : Config::norm - 8;
  static constexpr int ragged = kOnchip ? 0 : 1;
  static constexpr int unroll = 1;
  static constexpr int early_columns = 2;
  static constexpr long long cols = 0;
};

// y = norm(s), the last rows first: those that L2 has. `Statistics` says which norm (device/row/norm.cuh); only one has a bias.
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
    row::onchip<RowsOf<Config>>(op, rows, cols);
  } else {
    row::streaming<RowsOf<Config>>(op, rows, cols);
  }
}

}  // namespace tilewright::gemm
