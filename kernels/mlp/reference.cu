// SPDX-License-Identifier: Apache-2.0
//
// mlp in fp64, a warp per row. Of big problems, the rows at the edges of blocks of 128.

#include "device/reduce.cuh"
#include "gemm/fused/reference.cuh"

template <class Config>
__global__ void mlp_reference(const typename Config::dtype* x, const typename Config::dtype* w_gate,
                              const typename Config::dtype* w_up, const typename Config::dtype* w_down,
                              const typename Config::dtype* b_gate, const typename Config::dtype* b_up,
                              const typename Config::dtype* b_down, double* y, long long rows, long long d,
                              long long hidden, long long d_out) {
  using namespace tilewright;
  constexpr bool kHasBias = Config::bias == "yes";
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const i64 warps = i64{gridDim.x} * (blockDim.x / kWarpSize);
  for (i64 row = i64{blockIdx.x} * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize; row < rows; row += warps) {
    if (!gemm::is_row_sampled(row, rows, hidden, 2 * d + d_out)) continue;
    double* const of_row = y + row * d_out;
    const auto* const of_x = x + row * d;
    for (i64 column = lane; column < d_out; column += kWarpSize) {
      of_row[column] = kHasBias ? double{to_float(b_down[column])} : 0.0;
    }
    for (i64 first = 0; first < hidden; first += kWarpSize) {
      // A lane computes one element of h; all lanes need all of them.
      const i64 own = first + lane;
      double h = 0.0;
      if (own < hidden) {
        const double up = gemm::exact_product(of_x, w_up + own * d, d) + (kHasBias ? double{to_float(b_up[own])} : 0.0);
        if constexpr (Config::gated == "yes") {
          const double gate =
              gemm::exact_product(of_x, w_gate + own * d, d) + (kHasBias ? double{to_float(b_gate[own])} : 0.0);
          h = exact_activation<Config>(gate) * up;
        } else {
          h = exact_activation<Config>(up);
        }
      }
      double all[kWarpSize];
#pragma unroll
      for (int i = 0; i < kWarpSize; ++i) all[i] = __shfl_sync(kFullMask, h, i);
      const int count = static_cast<int>(hidden - first < kWarpSize ? hidden - first : kWarpSize);
      for (i64 column = lane; column < d_out; column += kWarpSize) {
        const auto* const weights = w_down + column * hidden + first;
        double sum = of_row[column];
        for (int i = 0; i < count; ++i) sum += all[i] * double{to_float(weights[i])};
        of_row[column] = sum;
      }
    }
  }
}
