// SPDX-License-Identifier: Apache-2.0
#pragma once

// The epilogue of gemm_dropout: c = dropout(act(sum + bias)) + residual, in fp32, rounded once.

#include "device/dropout.cuh"
#include "gemm/fused/config.cuh"
#include "gemm/output.cuh"

namespace tilewright::gemm {

template <class Config>
struct Dropping : Linear<Config> {};

template <class Config>
struct Output<Dropping<Config>> : Output<Linear<Config>> {
  using Base = Output<Linear<Config>>;
  using T = typename Base::T;

  Dropout dropout;

  __device__ __forceinline__ Output(const T* bias, const T* residual, T* c, i64 m, i64 n, const Dropout& dropout_)
      : Base{bias, residual, c, m, n}, dropout(dropout_) {}

  template <int N>
  __device__ __forceinline__ void store(float (&sums)[N], i64 row, i64 column) const {
    using E = Epilogue<Linear<Config>>;
    const i64 place = row * this->n + column;
    float biases[N] = {}, residuals[N] = {};
    if constexpr (E::kHasBias) to_float(load_packed<N>(this->bias + column), biases);
    if constexpr (E::kHasResidual) to_float(load_packed<N>(this->residual + place), residuals);
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i] = activate<Config, T>(sums[i] + biases[i]);
    dropout.apply<N>(sums, static_cast<u64>(row), static_cast<u64>(column));
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i] += residuals[i];
    store_vector(this->c + place, from_float<T>(sums));
  }

  template <int N>
  __device__ __forceinline__ void store_each(const float (&sums)[N], i64 row, i64 column) const {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      float one[1] = {sums[i]};
      if (column + i < this->n) store(one, row, column + i);
    }
  }
};

}  // namespace tilewright::gemm
