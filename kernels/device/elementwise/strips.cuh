// SPDX-License-Identifier: Apache-2.0
#pragma once

// The skeleton of ops on matrices whose results are also summed over the rows. strips.toml beside it has the space and
// the launch formulas. An op is a class with
//
//   T, kInputs                  element type; number of matrices read
//   tensors                     row::RowTensors<T, kInputs, 1, 1>: the matrices, a tensor along the columns, the result
//   results<kMultiple>(in, along, row, column, out)   neighbouring elements from `column` on, a multiple of kMultiple:
//                               in[kInputs][N], along[N], out[N]
//
//   block       threads_per_row × rows at once     columns →
//               t0 t1 t2 … | t0 t1 t2 … | …        a thread takes one vector of each of `unroll` rows, gridDim.y blocks
//   rows ↓      t0 t1 t2 … | t0 t1 t2 … | …        apart, then advances below them, and sums its columns
//
// row/gradient_sums.cuh adds the blocks' sums of a column. The result may be an input: a thread writes only elements
// that it alone reads. Shared memory: one float per element of the block's rows. sm_80 and later.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/ptx/store_whole.cuh"
#include "device/row/column_sums.cuh"
#include "device/row/tensors.cuh"
#include "device/shared.cuh"
#include "device/vector.cuh"

namespace tilewright::elementwise {

// One store of 16 bytes: behind the branches below the compiler would split a plain one in four.
template <class T, int kVec>
__device__ __forceinline__ void store_strip(T* address, const Vector<T, kVec>& value) {
  if constexpr (sizeof(T) * kVec == 16) {
    ptx::store_whole(reinterpret_cast<Word<16>*>(address), pack(value).words[0]);
  } else {
    store_vector(address, value);
  }
}

template <class Config, class Op>
__device__ __forceinline__ void strips(const Op& op, const row::ColumnPartials& partials, i64 rows, i64 cols) {
  using T = typename Op::T;
  constexpr int kVec = Config::vec, kUnroll = Config::unroll, kAcross = Config::threads_per_row;
  constexpr int kDown = Config::num_warps * kWarpSize / kAcross;
  static_assert(kVec * sizeof(T) <= 16, "a vector has at most 16 bytes");
  static_assert(Config::num_warps * kWarpSize % kAcross == 0, "threads_per_row must divide the threads");
  const i64 width = Config::cols ? Config::cols : cols;
  const int across = static_cast<int>(threadIdx.x) % kAcross, down = static_cast<int>(threadIdx.x) / kAcross;
  const i64 step = i64{gridDim.y} * kDown;
  auto* const slots = shared_storage<float>();
  if (threadIdx.x == 0 && blockIdx.x == 0 && blockIdx.y == 0) *partials.parts = gridDim.y;

  for (i64 strip = blockIdx.x; strip * kAcross * kVec < width; strip += gridDim.x) {
    const i64 column = (strip * kAcross + across) * kVec;
    const bool present = column < width;
    float sums[kVec] = {};
    if (present) {
      float along[kVec];
      to_float(load_packed<kVec, Load::kConstant>(op.tensors.columns[0] + column), along);
      for (i64 first = i64{blockIdx.y} * kDown + down; first < rows; first += kUnroll * step) {
        // Issue all loads before the first use.
        Packed<T, kVec> loaded[kUnroll][Op::kInputs];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          if (first + u * step >= rows) break;
#pragma unroll
          for (int input = 0; input < Op::kInputs; ++input) {
            loaded[u][input] = load_packed<kVec>(op.tensors.inputs[input].row(first + u * step) + column);
          }
        }

        // Store the results and add them to the sums.
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          const i64 r = first + u * step;
          if (r >= rows) break;
          float in[Op::kInputs][kVec], out[kVec];
#pragma unroll
          for (int input = 0; input < Op::kInputs; ++input) to_float(loaded[u][input], in[input]);
          op.template results<kVec>(in, along, r, column, out);
#pragma unroll
          for (int j = 0; j < kVec; ++j) sums[j] += out[j];
          store_strip(op.tensors.outputs[0].row(r) + column, from_float<T>(out));
        }
      }
    }

    // Sum the block's columns over its rows.
#pragma unroll
    for (int j = 0; j < kVec; ++j) slots[(down * kVec + j) * kAcross + across] = sums[j];
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.x); c < kAcross * kVec; c += Config::num_warps * kWarpSize) {
      const i64 its_column = strip * kAcross * kVec + c;
      if (its_column >= width) continue;
      float sum = 0.0f;
#pragma unroll 4
      for (int d = 0; d < kDown; ++d) sum += slots[(d * kVec + c % kVec) * kAcross + c / kVec];
      partials.row(0, blockIdx.y, gridDim.y)[its_column] = sum;
    }
    __syncthreads();
  }
  row::let_column_sums_start();
}

}  // namespace tilewright::elementwise
