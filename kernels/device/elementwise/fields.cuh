// SPDX-License-Identifier: Apache-2.0
#pragma once

// The skeleton of ops on any number of matrices of one shape: an output element is a function of the input elements at
// its place. fields.toml beside it has the space and the launch formulas. An op is a class with
//
//   T, kInputs, kOutputs   element type; number of matrices read and written
//   tensors                row::RowTensors<T, kInputs, 0, kOutputs>
//   results(in, out)       one element of each output
//
//   block       threads_per_row × rows at once     columns →
//               t0 t1 t2 … | t0 t1 t2 … | …        a thread takes `unroll` vectors of a row,
//   rows ↓      t0 t1 t2 … | t0 t1 t2 … | …        threads_per_row apart, then advances by the whole grid's rows
//
// Vectors are placed for the first output (row/span.cuh); if the rows of another matrix are aligned differently, all go
// by elements. An output may be an input: a thread writes only elements that it alone reads. sm_80 and later.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/row/by_elements.cuh"
#include "device/row/span.cuh"
#include "device/row/weighed.cuh"

namespace tilewright::elementwise {

template <class Op, int kVec>
__device__ __forceinline__ void field_results(const Op& op, const row::InputVectors<Op, kVec>& loaded, i64 r,
                                              i64 column) {
  // Adapts the op to a row op whose results share nothing.
  struct Unshared {
    using T = typename Op::T;
    enum : int { kInputs = Op::kInputs, kOutputs = Op::kOutputs };
    const row::RowTensors<T, kInputs, 0, kOutputs>& tensors;
    const Op& op;
    __device__ __forceinline__ void results(const float (&in)[kInputs], int, float (&out)[kOutputs]) const {
      op.results(in, out);
    }
  };
  row::store_results<Unshared, kVec>({op.tensors, op}, loaded, 0, r, column);
}

template <class Config, class Op>
__device__ __forceinline__ void fields(const Op& op, i64 rows, i64 cols) {
  constexpr int kVec = Config::vec;
  constexpr bool kRagged = Config::ragged != 0;
  constexpr int kAcross = Config::threads_per_row;
  constexpr int kAtOnce = Config::num_warps * kWarpSize / kAcross;
  static_assert(kVec * sizeof(typename Op::T) <= 16, "a vector has at most 16 bytes");
  static_assert(Config::num_warps * kWarpSize % kAcross == 0, "threads_per_row must divide the threads");
  const i64 width = Config::cols ? Config::cols : cols;
  const int thread = static_cast<int>(threadIdx.x) % kAcross;
  const i64 first_item = i64{blockIdx.x} * kAcross * Config::unroll + thread;
  const bool slow = kRagged && !row::in_step<kVec>(op);
  const auto element = [&](i64 r, i64 column) {
    row::InputVectors<Op, 1> loaded;
    row::load_inputs<Op, 1>(op, r, column, loaded);
    field_results<Op, 1>(op, loaded, r, column);
  };
  for (i64 r = i64{blockIdx.y} * kAtOnce + threadIdx.x / kAcross; r < rows; r += i64{gridDim.y} * kAtOnce) {
    if (slow) {
      for (i64 c = first_item; c < width; c += i64{gridDim.x} * kAcross * Config::unroll) {
#pragma unroll
        for (int u = 0; u < Config::unroll; ++u) {
          if (c + u * kAcross < width) element(r, c + u * kAcross);
        }
      }
      continue;
    }
    const row::Span<kVec, kRagged, i64> span(op.tensors.outputs[0].row(r), width);

    // Issue all loads before the first use.
    row::InputVectors<Op, kVec> loaded[Config::unroll];
#pragma unroll
    for (int u = 0; u < Config::unroll; ++u) {
      const i64 i = first_item + u * kAcross;
      if (i < span.vectors()) row::load_inputs<Op, kVec>(op, r, span.column(i), loaded[u]);
    }

    // Store the results; a row's first threads take its edges.
#pragma unroll
    for (int u = 0; u < Config::unroll; ++u) {
      const i64 i = first_item + u * kAcross;
      if (i < span.vectors()) field_results<Op, kVec>(op, loaded[u], r, span.column(i));
    }
    if (kRagged && blockIdx.x == 0) {
#pragma unroll 1
      for (int e = thread; e < span.edges(); e += kAcross) element(r, span.edge_column(e));
    }
  }
}

}  // namespace tilewright::elementwise
