// SPDX-License-Identifier: Apache-2.0
#pragma once

// An MLP as two products: h = act(x · w_gateᵀ + b_gate) · (x · w_upᵀ + b_up), or act(x · w_upᵀ + b_up), rounded to a
// workspace, then y = h · w_downᵀ + b_down. The second kernel starts before the first ends.

#include "device/ptx/grid_dependency.cuh"
#include "gemm/fused/config.cuh"

namespace tilewright::gemm {

// The first product, if it is gated.
template <class Config>
struct GatedUp : Config {
  static constexpr Name weights{"split"};
};

// The first product, if it is not gated.
template <class Config>
struct PlainUp : Linear<Config> {
  static constexpr Name residual{"no"};
};

// The second product. Its producers wait for the rows that they copy, as in wgmma_padded.
template <class Config>
struct Down : Linear<Config> {
  static constexpr Name act{"none"}, residual{"no"}, implementation{"wgmma_padded"};
};

__device__ __forceinline__ void let_second_start() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  ptx::grid_launch_dependents();
#endif
}
__device__ __forceinline__ void wait_for_first() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  ptx::grid_dependency_wait();
#endif
}

}  // namespace tilewright::gemm
