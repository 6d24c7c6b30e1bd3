// SPDX-License-Identifier: Apache-2.0
#pragma once

// A warpgroup of the wgmma kernel: dk and dv of its 64 keys, and its share of dq. Of a step's products those that need
// nothing of the softmax are under way while the others' weights are worked out:
//
//   tensor cores   x dp       dv         dq dk
//   thread            p    dx   barrier     adds dq
//
// The other warpgroup fills the gaps. Products begin and end within a step: the compiler serializes those of which a
// thread holds registers from one step to the next.
//
// Groups of products end in order: a wait says how many of the youngest may be under way.

#include "attention/rounding.cuh"
#include "attention/softmax.cuh"
#include "device/bits.cuh"
#include "device/ptx/barrier.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/global_reduce.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/ring.cuh"
#include "wgmma_geometry.cuh"
#include "wgmma_multiply.cuh"

namespace tilewright::attention {

inline constexpr u32 kDxIsStored = 1;  // a named barrier of both warpgroups

// dk and dv: two rows a thread, `rows`, null where there is none. Neighbours trade, so that each stores 8 bytes.
template <class T, int kColumns>
__device__ __forceinline__ void store_gradient(const float (&sums)[kColumns / 2], T* const (&rows)[2], i32 columns,
                                               float factor, int lane) {
  const bool is_odd = lane % 2 == 1;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int group = 0; group < kColumns / 8; group += 2) {
      u32 words[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int at = (group + i) * 4 + half * 2;
        words[i] = round_pair<T>(sums[at] * factor, sums[at + 1] * factor);
      }
      const u32 other = __shfl_xor_sync(kFullMask, is_odd ? words[0] : words[1], 1);
      const Bits64 four = is_odd ? Bits64{other, words[1]} : Bits64{words[0], other};
      const i32 column = (group + lane % 2) * 8;
      if (rows[half] != nullptr && column < columns) {
        *reinterpret_cast<Bits64*>(rows[half] + column + lane % 4 / 2 * 4) = four;
      }
    }
  }
}

// Where gradients of keys go: strides in elements.
template <class T>
struct KeyGradient {
  T* data;
  i64 batch, token, head;
  i32 columns;
};

// `sums` has the tiles of dq, block_m × block_d floats each, by batch, head and block.
template <class Config>
__device__ __forceinline__ void gradients_of_block(typename BackwardTiles<Config>::Storage& storage,
                                                   const BackwardProblem& problem, const BackwardWork& work,
                                                   float* sums_dq, const KeyGradient<typename Config::dtype>& to_dk,
                                                   const KeyGradient<typename Config::dtype>& to_dv, float scale,
                                                   int warpgroup, int thread) {
  using G = BackwardTiles<Config>;
  using T = typename G::T;
  using Products = BackwardProducts<Config>;
  constexpr int kStepsQ = G::kQueries / G::kStep;
  const int lane = thread % kWarpSize;
  const i32 warp_key = work.first_key + warpgroup * G::kOwn + thread / kWarpSize * 16;  // the first of the warp
  const float factor = scale * kLog2E;
  const unsigned char* const own_k = storage.k + warpgroup * G::kOwn * G::kRowBytes;
  const unsigned char* const own_v = storage.v + warpgroup * G::kOwn * G::kRowBytes;

  float dk[G::kHead / 2], dv[G::kHeadV / 2];
#pragma unroll
  for (float& each : dk) each = 0.0f;
#pragma unroll
  for (float& each : dv) each = 0.0f;
  ptx::wgmma_settle(dk);  // zeros are there before the first product begins
  ptx::wgmma_settle(dv);
  float x[G::kScores], dp[G::kScores], dq[G::kSumsDq];
  u32 p[kStepsQ][4], dx[kStepsQ][4];

  const auto add_dq = [&](i32 step, i32 block) {
    const i64 tile = (i64{work.batch} * problem.heads + work.head(step)) * problem.query_blocks + block;
    float* const own_dq =
        sums_dq + tile * (G::kQueries * G::kHead) + (warpgroup * (G::kSumsDq / 4) * G::kWarpgroup + thread) * 4;
#pragma unroll
    for (int j = 0; j < G::kSumsDq / 4; ++j) {
      ptx::reduce_add(own_dq + j * G::kWarpgroup * 4, dq[4 * j], dq[4 * j + 1], dq[4 * j + 2], dq[4 * j + 3]);
    }
  };

  Ring<G::kStages> ring;
  const i32 steps = work.steps();
  if (steps > 0) {
    ptx::mbarrier_wait(&storage.full_k, 0);
    ptx::mbarrier_wait(&storage.full_v, 0);
  }
#pragma unroll 1
  for (i32 step = 0; step < steps; ++step) {
    const u32 stage = ring.stage;
    const i32 block = work.block(step);
    ptx::mbarrier_wait(&storage.full_q[stage], ring.parity);
    ptx::wgmma_fence();
    Products::template start_scores<G::kParts>(x, own_k, storage.q[stage]);
    ptx::mbarrier_wait(&storage.full_do[stage], ring.parity);
    ptx::wgmma_fence();
    Products::template start_scores<G::kPartsV>(dp, own_v, storage.d_o[stage]);
    ptx::wgmma_wait<1>();
    ptx::wgmma_settle(x);

    // p. Queries are columns: the thread has 8j + 2t and the next one of each 8.
    const float* const lse = storage.lse[stage] + lane % 4 * 2;
    const float* const delta = storage.delta[stage] + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < G::kScores / 4; ++j) {
      const float low = lse[j * 8], high = lse[j * 8 + 1];
      x[4 * j] = ptx::ex2_approx(fmaf(x[4 * j], factor, -low));
      x[4 * j + 1] = ptx::ex2_approx(fmaf(x[4 * j + 1], factor, -high));
      x[4 * j + 2] = ptx::ex2_approx(fmaf(x[4 * j + 2], factor, -low));
      x[4 * j + 3] = ptx::ex2_approx(fmaf(x[4 * j + 3], factor, -high));
    }
    // As seen from the first query's diagonal: where the warp's keys are.
    const i32 query = block * G::kQueries;
    const i32 from_diagonal = warp_key - query - (problem.keys - problem.queries);
    const bool is_whole =
        warp_key + 15 < problem.keys &&
        (!G::kMasked || (from_diagonal + 15 <= problem.last && from_diagonal - (G::kQueries - 1) >= problem.first));
    if (!is_whole) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const i32 row = lane / 4 + half * 8, distance = from_diagonal + row - lane % 4 * 2;
        const bool exists = warp_key + row < problem.keys;
#pragma unroll
        for (int i = 0; i < G::kScores / 2; ++i) {
          const int column = i / 2 * 8 + i % 2, at = i / 2 * 4 + half * 2 + i % 2;
          const bool is_seen =
              exists && (!G::kMasked || (distance - column <= problem.last && distance - column >= problem.first));
          x[at] = is_seen ? x[at] : 0.0f;
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kStepsQ; ++i) round_step<T>(p[i], x, i);
    ptx::wgmma_fence();
    Products::template start_sums<G::kHeadV>(dv, p, storage.d_o[stage]);

    // dx, without the factor `scale`.
    ptx::wgmma_wait<1>();
    ptx::wgmma_settle(dp);
#pragma unroll
    for (int j = 0; j < G::kScores / 4; ++j) {
      const float low = delta[j * 8], high = delta[j * 8 + 1];
      dp[4 * j] = x[4 * j] * (dp[4 * j] - low);
      dp[4 * j + 1] = x[4 * j + 1] * (dp[4 * j + 1] - high);
      dp[4 * j + 2] = x[4 * j + 2] * (dp[4 * j + 2] - low);
      dp[4 * j + 3] = x[4 * j + 3] * (dp[4 * j + 3] - high);
    }
#pragma unroll
    for (int i = 0; i < kStepsQ; ++i) round_step<T>(dx[i], dp, i);
    // Two buffers: what was written two steps before has been read, or its readers would not have come to the barrier
    // of the last step.
    unsigned char* const stored = storage.dx[step % 2];
    Products::store_dx(stored, dx, warpgroup, thread);
    ptx::fence_shared_to_async();
    ptx::barrier_sync(kDxIsStored, G::kConsumers * G::kWarpgroup);
    ptx::wgmma_fence();
    Products::start_dq(dq, storage.k, stored, warpgroup);
    Products::template start_sums<G::kHead>(dk, dx, storage.q[stage]);

    // dv and dq have ended; the next scores begin behind dk.
    ptx::wgmma_wait<1>();
    ptx::wgmma_settle(dq);
    if (lane == 0) ptx::mbarrier_arrive(&storage.empty_do[stage]);
    add_dq(step, block);
    ptx::wgmma_wait<0>();
    if (lane == 0) ptx::mbarrier_arrive(&storage.empty_q[stage]);
    ring.advance();
  }
  ptx::wgmma_settle(dk);
  ptx::wgmma_settle(dv);

  T *rows[2], *rows_v[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i32 key = warp_key + lane / 4 + half * 8;
    const bool exists = key < problem.keys;
    rows[half] =
        exists ? to_dk.data + work.batch * to_dk.batch + key * to_dk.token + work.key_head * to_dk.head : nullptr;
    rows_v[half] =
        exists ? to_dv.data + work.batch * to_dv.batch + key * to_dv.token + work.key_head * to_dv.head : nullptr;
  }
  store_gradient<T, G::kHead>(dk, rows, to_dk.columns, scale, lane);
  store_gradient<T, G::kHeadV>(dv, rows_v, to_dv.columns, 1.0f, lane);
}

}  // namespace tilewright::attention
