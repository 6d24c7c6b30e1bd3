// SPDX-License-Identifier: Apache-2.0
//
// gemm_dropout in fp64, of the elements that gemm's reference computes.

#include "device/dropout.cuh"
#include "gemm/fused/reference.cuh"

template <class Config>
__global__ void gemm_dropout_reference(const typename Config::dtype* a, const typename Config::dtype* b,
                                       const typename Config::dtype* bias, const typename Config::dtype* residual,
                                       double* c, float p, unsigned long long seed, unsigned long long offset,
                                       long long m, long long n, long long k) {
  using namespace tilewright;
  const i64 stride = i64{gridDim.x} * blockDim.x;
  for (i64 i = i64{blockIdx.x} * blockDim.x + threadIdx.x; i < m * n; i += stride) {
    const i64 row = i / n, column = i % n;
    if (!gemm::is_sampled(row, column, m, n, k)) continue;
    double sum = gemm::exact_product(a + row * k, b + column * k, k);
    if constexpr (Config::bias == "yes") sum += double{to_float(bias[column])};
    sum =
        exact_dropout(exact_activation<Config>(sum), p, seed, offset, static_cast<u64>(row), static_cast<u64>(column));
    if constexpr (Config::residual == "yes") sum += double{to_float(residual[i])};
    c[i] = sum;
  }
}
