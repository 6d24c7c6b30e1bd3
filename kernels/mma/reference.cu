// SPDX-License-Identifier: Apache-2.0
//
// y[r] = steps · Σ over k of a[r][k] · Σ over j of b[j][k], in fp64, of operands as the tensor cores get them.

#include "device/convert.cuh"
#include "rows.cuh"

template <class Config>
__global__ void mma_reference(const typename Config::dtype* a, const typename Config::dtype* b, double* y,
                              long long rows, long long steps) {
  using namespace tilewright;
  using namespace tilewright::mma_chains;
  using T = typename Config::dtype;
  constexpr int kDepth = kRowBytes / static_cast<int>(sizeof(T));
  const auto exact = [](T element) -> double {
    if constexpr (is_same<T, float>) {
      return __builtin_bit_cast(float, operand<T>(__builtin_bit_cast(u32, element)));
    } else {
      return to_float(element);
    }
  };
  const i64 stride = i64{gridDim.x} * blockDim.x;
  for (i64 row = i64{blockIdx.x} * blockDim.x + threadIdx.x; row < rows; row += stride) {
    double sum = 0;
    for (int k = 0; k < kDepth; ++k) {
      double column = 0;
      for (int j = 0; j < kColumns; ++j) column += exact(b[j * kDepth + k]);
      sum += exact(a[row * kDepth + k]) * column;
    }
    y[row] = static_cast<double>(steps) * sum;
  }
}
