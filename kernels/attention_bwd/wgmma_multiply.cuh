// SPDX-License-Identifier: Apache-2.0
#pragma once

// The five products of a step, as one warpgroup starts them (ptx/wgmma.cuh has the fences and waits), and dx on the way
// through shared memory.

#include "device/ptx/stmatrix.cuh"
#include "device/ptx/wgmma.cuh"
#include "device/ptx/wgmma_fresh.cuh"
#include "device/ptx/wgmma_steps.cuh"
#include "wgmma_geometry.cuh"

namespace tilewright::attention {

template <class Config>
struct BackwardProducts {
  using G = BackwardTiles<Config>;
  using T = typename G::T;

  // Starts scores (own 64 keys × queries) = own rows of k or v times rows of q or do; columns are the inner dimension.
  template <int kParts>
  __device__ static __forceinline__ void start_scores(float (&scores)[G::kScores], const unsigned char* own_rows,
                                                      const unsigned char* others) {
    const u64 a = ptx::matrix_descriptor(own_rows, 0, G::kEightRows),
              b = ptx::matrix_descriptor(others, 0, G::kEightRows);
#pragma unroll
    for (int step = 0; step < kParts * G::kStepsOfPart; ++step) {
      const u32 part = static_cast<u32>(step / G::kStepsOfPart) * G::kRowBytes;
      const u32 inside = static_cast<u32>(step % G::kStepsOfPart) * G::kStepBytes;
      const u64 of_step = ptx::advance(a, part * G::kKeys + inside),
                other = ptx::advance(b, part * G::kQueries + inside);
      if (step == 0) {
        ptx::wgmma_fresh<T, G::kQueries, false>(scores, of_step, other);
      } else {
        ptx::wgmma_shared<T, G::kQueries>(scores, of_step, other, true);
      }
    }
    ptx::wgmma_commit();
  }

  // Starts sums (own 64 keys × columns) += weights (own 64 keys × queries) times rows of q or do; queries are the inner
  // dimension.
  template <int kColumns>
  __device__ static __forceinline__ void start_sums(float (&sums)[kColumns / 2],
                                                    const u32 (&weights)[G::kQueries / G::kStep][4],
                                                    const unsigned char* others) {
    const u64 b = ptx::matrix_descriptor(others, G::kQueries * G::kRowBytes, G::kEightRows);
#pragma unroll
    for (int step = 0; step < G::kQueries / G::kStep; ++step) {
      ptx::wgmma_registers<T, kColumns>(sums, weights[step], ptx::advance(b, step * G::kStepRows), true);
    }
    ptx::wgmma_commit();
  }

  // Starts this warpgroup's share of dqᵀ (d × queries) = kᵀ dxᵀ; keys are the inner dimension, and the rows of both.
  __device__ static __forceinline__ void start_dq(float (&sums)[G::kSumsDq], const unsigned char* k,
                                                  const unsigned char* dx, int warpgroup) {
    const u32 own = static_cast<u32>(warpgroup) * (G::kKeys * G::kRowBytes);  // a part of k, or of dx
    const u64 a = ptx::matrix_descriptor(k + (G::kParts == 2 ? own : 0), G::kKeys * G::kRowBytes, G::kEightRows);
    const u64 b = ptx::matrix_descriptor(dx + (G::kParts == 2 ? 0 : own), G::kKeys * G::kRowBytes, G::kEightRows);
#pragma unroll
    for (int step = 0; step < G::kKeys / G::kStep; ++step) {
      const u64 of_step = ptx::advance(a, step * G::kStepRows), other = ptx::advance(b, step * G::kStepRows);
      if (step == 0) {
        ptx::wgmma_fresh<T, G::kQueriesDq, true>(sums, of_step, other);
      } else {
        ptx::wgmma_transposed<T, G::kQueriesDq>(sums, of_step, other);
      }
    }
    ptx::wgmma_commit();
  }

  // Stores own rows of dx, from the register layout of the next product, where start_dq reads them: a row per key,
  // swizzled by 128 bytes.
  __device__ static __forceinline__ void store_dx(unsigned char* dx, const u32 (&weights)[G::kQueries / G::kStep][4],
                                                  int warpgroup, int thread) {
    const int lane = thread % kWarpSize, matrix = lane / 8, row_of_eight = lane % 8;
    const int row = warpgroup * G::kOwn + thread / kWarpSize * 16 + matrix % 2 * 8 + row_of_eight;
#pragma unroll
    for (int step = 0; step < G::kQueries / G::kStep; ++step) {
      const int chunk = step % G::kStepsOfPart * 2 + matrix / 2;  // of 8 queries
      ptx::stmatrix_x4(dx + (step / G::kStepsOfPart * G::kKeys + row) * G::kRowBytes + (chunk ^ row_of_eight) * 16,
                       weights[step]);
    }
  }
};

}  // namespace tilewright::attention
