// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products in double for the references of ops that are a gemm and more, an element at a time, of those that gemm's reference
// would compute (is_sampled).

#include "gemm/reference.cu"

namespace tilewright::gemm {

// Σ a[i] · b[i].
template <class T>
__device__ __forceinline__ double exact_product(const T* a, const T* b, i64 k) {
  double sum = 0.0;
#pragma unroll 8
  for (i64 i = 0; i < k; ++i) sum += double{to_float(a[i])} * double{to_float(b[i])};
  return sum;
}

}  // namespace tilewright::gemm
