// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a row op is to the skeletons of this folder (onchip, staged, streaming): a class with these members.
//
//   T, kInputs, kColumns, kOutputs   element type; matrices it reads, tensors along the columns, matrices it writes
//   tensors                          RowTensors<T, kInputs, kColumns, kOutputs>
//   Statistics                       its statistics of a row (statistics.cuh), such as moments.cuh or mean_square.cuh
//   pad()                            an element of the first input whose value, with 0 for the other inputs, counts for
//                                    nothing in the statistics
//   value(in)                        the value of one element, from the elements of the inputs
//   scale<kHeld>(own, whole, width)  what the results of a row share, from its statistics; `own` is those of the lanes
//   results<kHeld>(values, scale, columns, out)   some neighbouring elements of each output: out[kOutputs][kCount]
//
// kHeld says that the values were held in registers, where the statistics may have changed them, and not computed
// again.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/vector.cuh"

namespace tilewright::row {

// A matrix with rows of `pitch` elements, of which the first `cols` count.
template <class T>
struct Matrix {
  T* base;
  i64 pitch;

  __device__ __forceinline__ T* row(i64 r) const { return base + r * pitch; }
};

// A matrix argument whose op has an attribute `pitch`: `pitch` counts where that is "strided", else rows are dense.
template <class Config, class T>
__device__ __forceinline__ Matrix<T> matrix(T* base, i64 pitch, i64 cols) {
  const i64 width = Config::cols ? Config::cols : cols;
  return {base, Config::pitch == "strided" ? pitch : width};
}

__device__ constexpr int at_least_one(int count) { return count < 1 ? 1 : count; }

template <class T, int kInputs, int kColumns, int kOutputs>
struct RowTensors {
  Matrix<const T> inputs[kInputs];
  const T* columns[at_least_one(kColumns)];
  Matrix<T> outputs[kOutputs];
};

// A vector of input `input` that counts for nothing.
template <class Op, int kVec>
__device__ __forceinline__ Packed<typename Op::T, kVec> pad_of(int input) {
  Vector<typename Op::T, kVec> pad;
#pragma unroll
  for (int j = 0; j < kVec; ++j) pad[j] = from_float<typename Op::T>(input == 0 ? Op::pad() : 0.0f);
  return pack(pad);
}

// The values of the elements of one vector, number `i` of those that were loaded of each input, into `values` from
// index `at` on.
template <class Op, int kVec, int kVectors, int kCount>
__device__ __forceinline__ void values_of(const Op& op,
                                          const Packed<typename Op::T, kVec> (&loaded)[Op::kInputs][kVectors], int i,
                                          float (&values)[kCount], int at = 0) {
  float in[Op::kInputs][kVec];
#pragma unroll
  for (int input = 0; input < Op::kInputs; ++input) to_float(loaded[input][i], in[input]);
#pragma unroll
  for (int j = 0; j < kVec; ++j) {
    float element[Op::kInputs];
#pragma unroll
    for (int input = 0; input < Op::kInputs; ++input) element[input] = in[input][j];
    values[at + j] = op.value(element);
  }
}

}  // namespace tilewright::row
