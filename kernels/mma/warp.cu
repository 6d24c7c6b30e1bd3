// SPDX-License-Identifier: Apache-2.0
//
// Chains of mma.sync. A warp has warp_m rows of a, and warp_n columns at a time; operands and sums stay in registers,
// so only the tensor cores are at work:
//
//   load fragments of a ── for each warp_n columns: load fragments of b, add their product to the sums `steps` times
//
// Each sum is a chain. Chains are independent: while one waits for its last product, others go on.
//
// Shared memory: none. sm_80 and later.

#include "rows.cuh"

namespace tilewright::mma_chains {

template <class T>
__device__ __forceinline__ void multiply(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  if constexpr (is_same<T, float>) {
    ptx::mma_m16n8k8_tf32(d, a, b, d);
  } else if constexpr (is_same<T, __half>) {
    ptx::mma_m16n8k16_f16(d, a, b, d);
  } else {
    ptx::mma_m16n8k16_bf16(d, a, b, d);
  }
}

}  // namespace tilewright::mma_chains

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    mma_warp(const typename Config::dtype* a, const typename Config::dtype* b, float* y, long long rows,
             long long steps) {
  using namespace tilewright;
  using namespace tilewright::mma_chains;
  using T = typename Config::dtype;
  constexpr int kTilesM = Config::warp_m / 16, kTilesN = Config::warp_n / 8;
  static_assert(Config::warp_m % 16 == 0 && kColumns % Config::warp_n == 0, "a warp has whole fragments");
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int g = lane / 4, t = lane % 4;
  const auto* words_a = reinterpret_cast<const u32*>(a);
  const auto* words_b = reinterpret_cast<const u32*>(b);
  const i64 warps = i64{gridDim.x} * Config::num_warps;
  const i64 warp = i64{blockIdx.x} * Config::num_warps + static_cast<int>(threadIdx.x) / kWarpSize;

  for (i64 first = warp * Config::warp_m; first < rows; first += warps * Config::warp_m) {
    u32 of_a[kTilesM][kParts][4];
#pragma unroll
    for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
#pragma unroll
        for (int word = 0; word < 4; ++word) {
          const i64 row = first + i * 16 + g + word % 2 * 8;
          const int at = part * 8 + word / 2 * 4 + t;
          of_a[i][part][word] = row < rows ? operand<T>(words_a[row * kRowWords + at]) : 0;
        }
      }
    }
    float row_sums[kTilesM][2] = {};

#pragma unroll 1
    for (int column = 0; column < kColumns; column += Config::warp_n) {
      u32 of_b[kTilesN][kParts][2];
#pragma unroll
      for (int j = 0; j < kTilesN; ++j) {
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
#pragma unroll
          for (int word = 0; word < 2; ++word) {
            const int at = (column + j * 8 + g) * kRowWords + part * 8 + word * 4 + t;
            of_b[j][part][word] = operand<T>(words_b[at]);
          }
        }
      }
      float sums[kTilesM][kTilesN][4] = {};
#pragma unroll 1
      for (i64 step = 0; step < steps; ++step) {
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
#pragma unroll
          for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
            for (int j = 0; j < kTilesN; ++j) multiply<T>(sums[i][j], of_a[i][part], of_b[j][part]);
          }
        }
      }
#pragma unroll
      for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
        for (int j = 0; j < kTilesN; ++j) {
          row_sums[i][0] += sums[i][j][0] + sums[i][j][1];
          row_sums[i][1] += sums[i][j][2] + sums[i][j][3];
        }
      }
    }

#pragma unroll
    for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float sum = over_quad(row_sums[i][half]);
        const i64 row = first + i * 16 + half * 8 + g;
        if (t == 0 && row < rows) y[row] = sum;
      }
    }
  }
}
