// SPDX-License-Identifier: Apache-2.0
#pragma once

// The last step of every skeleton: values become results, which are stored.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/row/span.cuh"
#include "device/row/tensors.cuh"

namespace tilewright::row {

// Where a row of `Op` is read along the columns and written. The vectors of the span are aligned in all outputs.
template <class Op, int kVec, bool kRagged, class Index>
struct ResultRow {
  using T = typename Op::T;
  RowReader<T, kVec, kRagged, Load::kDefault, Index> columns[at_least_one(Op::kColumns)];
  T* outputs[Op::kOutputs];

  // Row `r`, with the tensors along the columns from memory.
  __device__ __forceinline__ ResultRow(const Op& op, i64 r, Index width, const Span<kVec, kRagged, Index>& span)
      : ResultRow(op, r, span, op.tensors.columns, width) {}

  // Row `r`, with tensors along the columns of `width` elements from elsewhere.
  __device__ __forceinline__ ResultRow(const Op& op, i64 r, const Span<kVec, kRagged, Index>& span,
                                       const T* const (&along)[at_least_one(Op::kColumns)], Index width) {
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) columns[c] = {along[c], width, span};
#pragma unroll
    for (int o = 0; o < Op::kOutputs; ++o) outputs[o] = op.tensors.outputs[o].row(r);
  }

  // What the tensors along the columns have for one vector. To be loaded for several vectors ahead of their stores, which
  // loads do not pass.
  struct Along {
    Packed<T, kVec> columns[at_least_one(Op::kColumns)];
  };

  __device__ __forceinline__ void load_along(Along& along, Index column) const {
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) along.columns[c] = columns[c].load_packed(column);
  }

  // The vector from `column` on.
  template <bool kHeld, class Scale>
  __device__ __forceinline__ void store_vector(const Op& op, const Scale& scale, const float (&values)[kVec],
                                               const Along& along, Index column) const {
    float at[at_least_one(Op::kColumns)][kVec];
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) to_float(along.columns[c], at[c]);
    float results[Op::kOutputs][kVec];
    op.template results<kHeld>(values, scale, at, results);
#pragma unroll
    for (int o = 0; o < Op::kOutputs; ++o) tilewright::store_vector(outputs[o] + column, from_float<T>(results[o]));
  }

  // The element at `column`.
  template <bool kHeld, class Scale>
  __device__ __forceinline__ void store_element(const Op& op, const Scale& scale, float value, Index column) const {
    const float values[1] = {value};
    float along[at_least_one(Op::kColumns)][1];
#pragma unroll
    for (int c = 0; c < Op::kColumns; ++c) along[c][0] = to_float(op.tensors.columns[c][column]);
    float results[Op::kOutputs][1];
    op.template results<kHeld>(values, scale, along, results);
#pragma unroll
    for (int o = 0; o < Op::kOutputs; ++o) outputs[o][column] = from_float<T>(results[o][0]);
  }
};

}  // namespace tilewright::row
