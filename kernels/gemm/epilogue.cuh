// SPDX-License-Identifier: Apache-2.0
#pragma once

// The epilogue of all implementations of gemm: c = act(sum + bias) + residual, in fp32, rounded once.

#include "device/activation.cuh"
#include "device/convert.cuh"

namespace tilewright::gemm {

template <class Config>
struct Epilogue {
  using T = typename Config::dtype;
  enum : bool { kHasBias = Config::bias == "yes", kHasResidual = Config::residual == "yes" };

  // `bias` and `residual` are ignored if the problem has none.
  __device__ static __forceinline__ float finish(float sum, float bias, float residual) {
    if constexpr (kHasBias) sum += bias;
    sum = activate<Config, T>(sum);
    if constexpr (kHasResidual) sum += residual;
    return sum;
  }
};

}  // namespace tilewright::gemm
