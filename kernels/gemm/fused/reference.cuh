// SPDX-License-Identifier: Apache-2.0
#pragma once

// Dot products in fp64 for the references of ops around a gemm, of the elements that gemm's reference computes
// (is_sampled).

#include "gemm/reference.cu"

namespace tilewright::gemm {

// For results that need whole rows: of big products, the rows at the edges of blocks of 128.
__device__ __forceinline__ bool is_row_sampled(i64 row, i64 m, i64 n, i64 k) {
  constexpr i64 kProducts = i64{1} << 28;
  if (m * n <= kProducts / k || row == 0 || row == m - 1) return true;
  return ((row + 1) & 127) < 2;
}

// Σ a[i] · b[i].
template <class T>
__device__ __forceinline__ double exact_product(const T* a, const T* b, i64 k) {
  double sum = 0.0;
#pragma unroll 8
  for (i64 i = 0; i < k; ++i) sum += double{to_float(a[i])} * double{to_float(b[i])};
  return sum;
}

}  // namespace tilewright::gemm
