// SPDX-License-Identifier: Apache-2.0
#pragma once

// The contract of a row op for the skeletons of this folder (onchip, staged, streaming): a class with these members.
//
//   T, kInputs, kColumns, kOutputs   element type; number of matrices read, tensors along the columns, matrices written
//   tensors                          RowTensors<T, kInputs, kColumns, kOutputs>
//   Statistics                       the statistics of a row (statistics.cuh), such as moments.cuh or mean_square.cuh
//   pad()                            an element of input 0 that, with 0 for the other inputs, adds nothing to the
//                                    statistics
//   value(in)                        the value of one element, from the elements of the inputs
//   scale<kHeld>(own, whole, width)  the values that a row's results share; `own` is the partial of the lanes
//   results<kHeld>(values, scale, columns, out)   neighbouring elements of each output: out[kOutputs][kCount]
//
// kHeld: the values stayed in registers, where the statistics may have changed them, and are not computed again.

#include "device/config.cuh"
#include "device/convert.cuh"
#include "device/vector.cuh"

namespace tilewright::row {

// A matrix whose rows start `pitch` elements apart.
template <class T>
struct Matrix {
  T* base;
  i64 pitch;

  __device__ __forceinline__ T* row(i64 r) const { return base + r * pitch; }
};

// A matrix argument of an op with an attribute `pitch`: if it is "strided", `pitch` counts, else rows are dense.
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

// A vector of input `input` that adds nothing to the statistics.
template <class Op, int kVec>
__device__ __forceinline__ Packed<typename Op::T, kVec> pad_of(int input) {
  Vector<typename Op::T, kVec> pad;
#pragma unroll
  for (int j = 0; j < kVec; ++j) pad[j] = from_float<typename Op::T>(input == 0 ? Op::pad() : 0.0f);
  return pack(pad);
}

// Computes the values of vector `i` of the loaded inputs into `values`, from index `at` on.
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
