// SPDX-License-Identifier: Apache-2.0
#pragma once

// The last step of all skeletons: values become results, which are stored.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/row/span.cuh"
#include "device/row/tensors.cuh"

namespace tilewright::row {

// The span of a row of `Op` with at least kLeastWidth columns. Inputs and outputs are aligned alike, tensors along the
// columns are not.
template <class Op, int kVec, bool kRagged, class Index, int kLeastWidth = 0>
using SpanOf = Span<kVec, kRagged, Index, kRagged && (Op::kColumns > 0) ? margin_of<kVec>() : 0, kLeastWidth>;

// A thread's addresses in a row of `Op`: along the columns, and of the outputs. A vector is named by its distance from
// the thread's first, in elements, a multiple of kVec.
template <class Op, int kVec, bool kRagged>
struct ResultRow {
  using T = typename Op::T;
  using Reader = RowReader<T, kVec, kRagged>;
  Reader columns[at_least_one(Op::kColumns)];
  T* outputs[Op::kOutputs];

  // Row `r` from `column` on; the tensors along the columns are in memory.
  __device__ __forceinline__ ResultRow(const Op& op, i64 r, i64 column)
      : ResultRow(op, r, column, op.tensors.columns) {}

  // Row `r` from `column` on; the tensors along the columns are at `along`.
  __device__ __forceinline__ ResultRow(const Op& op, i64 r, i64 column,
                                       const T* const (&along)[at_least_one(Op::kColumns)]) {
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) columns[c] = Reader(along[c] + column);
#pragma unroll
    for (int o = 0; o < Op::kOutputs; ++o) outputs[o] = op.tensors.outputs[o].row(r) + column;
  }

  // The elements along the columns for one vector. Load them for several vectors before the stores: loads do not pass
  // stores.
  struct Along {
    typename Reader::Vectors columns[at_least_one(Op::kColumns)];
  };

  __device__ __forceinline__ void load_along(Along& along, i64 ahead) const {
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) along.columns[c] = columns[c].load(ahead);
  }

  // The same through shared memory, with the vectors of consecutive tensors `stride` vectors apart: copies in flight
  // take no registers. ptx::cp_async_wait completes them.
  __device__ __forceinline__ void copy_along(typename Reader::Vectors* to, int stride, i64 ahead) const {
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) columns[c].copy(to + c * stride, ahead);
  }
  __device__ static __forceinline__ void copied_along(Along& along, const typename Reader::Vectors* from, int stride) {
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) along.columns[c] = from[c * stride];
  }

  template <bool kHeld, class Scale>
  __device__ __forceinline__ void store_vector(const Op& op, const Scale& scale, const float (&values)[kVec],
                                               const Along& along, i64 ahead) const {
    float at[at_least_one(Op::kColumns)][kVec];
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) to_float(columns[c].take(along.columns[c]), at[c]);
    float results[Op::kOutputs][kVec];
    op.template results<kHeld>(values, scale, at, results);
#pragma unroll
    for (int o = 0; o < Op::kOutputs; ++o) tilewright::store_vector(outputs[o] + ahead, from_float<T>(results[o]));
  }

  // The elements along the columns at `column`.
  struct AlongElement {
    T columns[at_least_one(Op::kColumns)];
  };

  __device__ static __forceinline__ void load_along_element(const Op& op, AlongElement& along, i64 column) {
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) along.columns[c] = op.tensors.columns[c][column];
  }

  // Stores the element at `column` of row `r`.
  template <bool kHeld, class Scale>
  __device__ static __forceinline__ void store_element(const Op& op, const Scale& scale, float value,
                                                       const AlongElement& loaded, i64 r, i64 column) {
    const float values[1] = {value};
    float along[at_least_one(Op::kColumns)][1];
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) along[c][0] = to_float(loaded.columns[c]);
    float results[Op::kOutputs][1];
    op.template results<kHeld>(values, scale, along, results);
#pragma unroll
    for (int o = 0; o < Op::kOutputs; ++o) op.tensors.outputs[o].row(r)[column] = from_float<T>(results[o][0]);
  }
};

}  // namespace tilewright::row
