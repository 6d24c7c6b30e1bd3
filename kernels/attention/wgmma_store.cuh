// SPDX-License-Identifier: Apache-2.0
#pragma once

// The end of a piece: results are divided by their rows' sums and stored to o, 8 bytes a lane, and lse with them. Of
// each 8 columns the four lanes of a row have two each; neighbours exchange, so that each has four of every second
// group, and 32 bytes of a row are stored at a time:
//
//   lane        0   1   2   3               0    1    2    3
//   group 0    01  23  45  67     becomes  0‥3       4‥7
//   group 1    01  23  45  67                   0‥3       4‥7
//
// No store crosses a row, and none needs shared memory.

#include "device/bits.cuh"
#include "device/ptx/math.cuh"
#include "rounding.cuh"
#include "softmax.cuh"
#include "wgmma_geometry.cuh"
#include "work.cuh"

namespace tilewright::attention {

// o and lse.
template <class T>
struct Output {
  T* o;
  float* lse;
  i64 batch_stride, token_stride, head_stride;  // of o, in elements
  i32 columns;                                  // dv
};

// Ends a thread's two rows, `row` of the piece and the eighth behind it, once all of their keys are added. Stores lse
// and, without ones, turns the sums into the factors of the results.
template <class Config>
__device__ __forceinline__ void end_rows(const Output<typename Config::dtype>& out, const Problem& problem,
                                         const Work& work, Rows& rows, i32 row, int lane, float factor) {
  using G = Geometry<Config>;
  const auto of_row = [](float sum) {
    sum += __shfl_xor_sync(kFullMask, sum, 1);
    return sum + __shfl_xor_sync(kFullMask, sum, 2);
  };
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if constexpr (G::kLse) {
      const float sum = of_row(rows.sum[half]);
      const i32 own_row = work.row + row + half * 8;
      const i32 token = own_row / G::kPack, head = work.head + own_row % G::kPack;
      if (token < problem.queries && lane % 4 == 0) {
        const i64 at = (i64{work.batch} * problem.heads + head) * problem.queries + token;
        out.lse[at] = log_sum(rows.base[half], sum, factor);
      }
    }
    if constexpr (!G::kOnes) {
      const float divisor = of_row(rows.rounded_sum[half]);
      rows.sum[half] = divisor > 0.0f ? ptx::rcp_approx(divisor) : 0.0f;
    }
  }
}

// Stores the rows' results, after end_rows().
template <class Config>
__device__ __forceinline__ void store_results(const Output<typename Config::dtype>& out, const Problem& problem,
                                              const Work& work, const Rows& rows,
                                              const float (&results)[Geometry<Config>::kResults], i32 row, int lane) {
  using G = Geometry<Config>;
  using T = typename G::T;
  constexpr int kGroups = G::kHeadV / 8;
  const bool is_odd = lane % 2 == 1;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i32 own_row = work.row + row + half * 8;
    const i32 token = own_row / G::kPack, head = work.head + own_row % G::kPack;
    const bool exists = token < problem.queries;
    float inverse = rows.sum[half];
    if constexpr (G::kOnes) {
      const float sum = results[G::kSumsAt + 2 * half];  // each lane has it
      inverse = sum > 0.0f ? ptx::rcp_approx(sum) : 0.0f;
    }
    T* const to = out.o + work.batch * out.batch_stride + token * out.token_stride + head * out.head_stride;
#pragma unroll
    for (int group = 0; group < kGroups; group += 2) {
      u32 words[2] = {};
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (group + i < kGroups) {
          const int at = (group + i) * 4 + half * 2;
          words[i] = round_pair<T>(results[at] * inverse, results[at + 1] * inverse);
        }
      }
      const u32 other = __shfl_xor_sync(kFullMask, is_odd ? words[0] : words[1], 1);
      const Bits64 four = is_odd ? Bits64{other, words[1]} : Bits64{words[0], other};
      const i32 column = (group + lane % 2) * 8;
      if (exists && column < out.columns) {
        *reinterpret_cast<Bits64*>(to + column + lane % 4 / 2 * 4) = four;
      }
    }
  }
}

}  // namespace tilewright::attention
