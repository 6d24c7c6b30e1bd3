// SPDX-License-Identifier: Apache-2.0
#pragma once

// Turns sums into elements of c, N neighbours of a row at a time: applies epilogue.cuh, rounds, stores.

#include "device/vector.cuh"
#include "epilogue.cuh"

namespace tilewright::gemm {

template <class Config>
struct Output {
  using T = typename Config::dtype;
  using E = Epilogue<Config>;

  const T* bias;
  const T* residual;  // may be c: the thread that writes an element of c has read it here
  T* c;
  i64 m, n;

  // Whether runs of N columns from a multiple of N move as vectors in all rows and tensors; the same for all threads.
  template <int N>
  __device__ __forceinline__ bool allows() const {
    u64 addresses = reinterpret_cast<u64>(c);
    if constexpr (E::kHasBias) addresses |= reinterpret_cast<u64>(bias);
    if constexpr (E::kHasResidual) addresses |= reinterpret_cast<u64>(residual);
    return n % N == 0 && addresses % (N * sizeof(T)) == 0;
  }

  // Stores N neighbouring columns, which exist; N > 1 needs allows<N>().
  template <int N>
  __device__ __forceinline__ void store(float (&sums)[N], i64 row, i64 column) const {
    const i64 place = row * n + column;
    float biases[N] = {}, residuals[N] = {};
    if constexpr (E::kHasBias) to_float(load_packed<N>(bias + column), biases);
    if constexpr (E::kHasResidual) to_float(load_packed<N>(residual + place), residuals);
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i] = E::finish(sums[i], biases[i], residuals[i]);
    store_vector(c + place, from_float<T>(sums));
  }

  // Stores the existing ones of N columns, one by one.
  template <int N>
  __device__ __forceinline__ void store_each(const float (&sums)[N], i64 row, i64 column) const {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      float one[1] = {sums[i]};
      if (column + i < n) store(one, row, column + i);
    }
  }
};

}  // namespace tilewright::gemm
