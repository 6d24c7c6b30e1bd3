// SPDX-License-Identifier: Apache-2.0
//
// gemm_gated in fp64, of the elements that gemm's reference computes.

#include "gemm/fused/gated.cuh"
#include "gemm/fused/reference.cuh"

template <class Config>
__global__ void gemm_gated_reference(const typename Config::dtype* a, const typename Config::dtype* wg,
                                     const typename Config::dtype* wu, const typename Config::dtype* w,
                                     const typename Config::dtype* bg, const typename Config::dtype* bu, double* y,
                                     double* gate, double* up, long long m, long long n, long long k) {
  using namespace tilewright;
  const auto weights = gemm::gated_weights<Config>(wg, wu, w, n, k);
  const i64 stride = i64{gridDim.x} * blockDim.x;
  for (i64 i = i64{blockIdx.x} * blockDim.x + threadIdx.x; i < m * n; i += stride) {
    const i64 row = i / n, column = i % n;
    if (!gemm::is_sampled(row, column, m, n, k)) continue;
    double of_gate = gemm::exact_product(a + row * k, weights.gate + column * weights.pitch, k);
    double of_up = gemm::exact_product(a + row * k, weights.up + column * weights.pitch, k);
    if constexpr (Config::bias == "yes") {
      of_gate += double{to_float(bg[column])};
      of_up += double{to_float(bu[column])};
    }
    y[i] = exact_activation<Config>(of_gate) * of_up;
    if constexpr (Config::store == "yes") {
      gate[i] = of_gate;
      up[i] = of_up;
    }
  }
}
