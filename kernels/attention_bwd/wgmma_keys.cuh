// SPDX-License-Identifier: Apache-2.0
#pragma once

// A warpgroup of the wgmma kernel: dk and dv of its 64 keys, and its share of dq. Products that do not need a step's
// softmax run while the weights of the others are computed:
//
//   tensor cores   x dp       dv         dq dk       x dp
//   thread             p   dx   barrier     adds dq     p
//
// The other warpgroup fills the gaps. With early=1 dv's product begins before dx is computed. No product is in flight
// where the loop begins again: the compiler serializes products whose registers it would have to follow there, and
// beginning the next x before dq is added takes more registers than there are.

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

// Stores dk or dv: two rows a thread, `rows`, null if absent. Neighbours exchange, so that each stores 8 bytes.
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

// The memory of a gradient of keys, with strides in elements.
template <class T>
struct KeyGradient {
  T* data;
  i64 batch, token, head;
  i32 columns;
};

template <class Config>
__device__ __forceinline__ void gradients_of_keys(typename BackwardTiles<Config>::Storage& storage,
                                                  const BackwardProblem& problem, float* sums_dq,
                                                  const KeyGradient<typename Config::dtype>& to_dk,
                                                  const KeyGradient<typename Config::dtype>& to_dv, float scale,
                                                  int warpgroup, int thread) {
  using G = BackwardTiles<Config>;
  using T = typename G::T;
  using Products = BackwardProducts<Config>;
  constexpr int kStepsQ = G::kQueries / G::kStep;
  const int lane = thread % kWarpSize;
  const float factor = scale * kLog2E;
  const int own_rows = warpgroup * G::kOwn * G::kRowBytes;

  float dk[G::kHead / 2], dv[G::kHeadV / 2];
  float x[G::kScores], dp[G::kScores], dq[G::kSumsDq];
  u32 p[kStepsQ][4], dx[kStepsQ][4];

  Ring<G::kStages> ring;
  Ring<G::kKeyStages> keys;
  u32 turn = 0;  // of the buffers of dx, and of dq's barriers
  BackwardWork work{};
  i32 warp_key = 0;  // the warp's first
  // Adds dq in register order: four floats a thread, 512 contiguous bytes a warp.
  const auto add_dq = [&](i32 step) {
    const int at = (warpgroup * (G::kSumsDq / 4) * G::kWarpgroup + thread) * 4;
    if constexpr (G::kBulk) {
      ptx::mbarrier_wait(&storage.empty_dq, turn ^ 1);
#pragma unroll
      for (int j = 0; j < G::kSumsDq / 4; ++j) {
        *reinterpret_cast<float4*>(storage.dq + at + j * G::kWarpgroup * 4) =
            float4{dq[4 * j], dq[4 * j + 1], dq[4 * j + 2], dq[4 * j + 3]};
      }
      ptx::fence_shared_to_async();
      __syncwarp();
      if (lane == 0) ptx::mbarrier_arrive(&storage.full_dq[G::kAdders == 2 ? turn : 0]);
    } else {
      float* const own_dq = sums_dq + tile_of<G>(problem, work, step) * G::kTileDq + at;
#pragma unroll
      for (int j = 0; j < G::kSumsDq / 4; ++j) {
        ptx::reduce_add(own_dq + j * G::kWarpgroup * 4, dq[4 * j], dq[4 * j + 1], dq[4 * j + 2], dq[4 * j + 3]);
      }
    }
  };

  // Turns x into p. Queries are columns: of each 8 the thread has 8j + 2t and the next one.
  const auto weigh = [&](i32 step, u32 stage) {
    const float* const lse = storage.lse[stage] + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < G::kScores / 4; ++j) {
      const float low = lse[j * 8], high = lse[j * 8 + 1];
      x[4 * j] = ptx::ex2_approx(fmaf(x[4 * j], factor, -low));
      x[4 * j + 1] = ptx::ex2_approx(fmaf(x[4 * j + 1], factor, -high));
      x[4 * j + 2] = ptx::ex2_approx(fmaf(x[4 * j + 2], factor, -low));
      x[4 * j + 3] = ptx::ex2_approx(fmaf(x[4 * j + 3], factor, -high));
    }
    // The warp's keys, as seen from the first query's diagonal.
    const i32 query = work.template block<G>(step) * G::kQueries;
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
  };
  // Computes dx, without the factor `scale`.
  const auto make_dx = [&](u32 stage) {
    const float* const delta = storage.delta[stage] + lane % 4 * 2;
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
  };
  const auto start_x = [&](u32 stage) {
    ptx::wgmma_fence();
    Products::template start_scores<G::kParts>(x, storage.k[keys.stage] + own_rows, storage.q[stage]);
  };
  const auto start_dp = [&](u32 stage) {
    ptx::wgmma_fence();
    Products::template start_scores<G::kPartsV>(dp, storage.v[keys.stage] + own_rows, storage.d_o[stage]);
  };
  const auto start_dv = [&](u32 stage) {
#pragma unroll
    for (int i = 0; i < kStepsQ; ++i) round_step<T>(p[i], x, i);
    ptx::wgmma_fence();
    Products::template start_sums<G::kHeadV>(dv, p, storage.d_o[stage]);
  };
  // Writes dx to one of two buffers. The dx of two steps before has been read, or its readers would not have come to
  // the barrier of the last step.
  const auto share_dx = [&] {
    Products::store_dx(storage.dx[turn], dx, warpgroup, thread);
    ptx::fence_shared_to_async();
    ptx::barrier_sync(kDxIsStored, G::kConsumers * G::kWarpgroup);
  };
  const auto start_dq = [&] {
    ptx::wgmma_fence();
    Products::start_dq(dq, storage.k[keys.stage], storage.dx[turn], warpgroup);
  };
  const auto start_dk = [&](u32 stage) {
    ptx::wgmma_fence();
    Products::template start_sums<G::kHead>(dk, dx, storage.q[stage]);
  };
  const auto release = [&](u64& empty) {
    if (lane == 0) ptx::mbarrier_arrive(&empty);
  };

#pragma unroll 1
  for (u32 index = first_piece<G>(); G::kTakes || index < problem.pieces; index = next_piece<G>(index)) {
    if constexpr (G::kTakes) {
      ptx::mbarrier_wait(&storage.full_k[keys.stage], keys.parity);
      index = __shfl_sync(kFullMask, storage.pieces[keys.stage], 0);  // the same in all lanes, for the compiler
      if (index == G::kNone) break;
    }
    work = make_backward_work<Config>(problem, index);
    warp_key = work.first_key + warpgroup * G::kOwn + thread / kWarpSize * 16;
    const i32 steps = work.steps();
#pragma unroll
    for (float& each : dk) each = 0.0f;
#pragma unroll
    for (float& each : dv) each = 0.0f;
    ptx::wgmma_settle(dk);  // zeros are there before the first product begins
    ptx::wgmma_settle(dv);
    if (!G::kTakes && steps > 0) ptx::mbarrier_wait(&storage.full_k[keys.stage], keys.parity);
#pragma unroll 1
    for (i32 step = 0; step < steps; ++step, ring.advance()) {
      const u32 stage = ring.stage;
      ptx::mbarrier_wait(&storage.full_q[stage], ring.parity);
      start_x(stage);
      if (step == 0) ptx::mbarrier_wait(&storage.full_v[keys.stage], keys.parity);
      ptx::mbarrier_wait(&storage.full_do[stage], ring.parity);
      start_dp(stage);
      ptx::wgmma_wait<1>();
      ptx::wgmma_settle(x);
      weigh(step, stage);
      if constexpr (G::kEarly) start_dv(stage);
      ptx::wgmma_wait<G::kEarly ? 1 : 0>();
      ptx::wgmma_settle(dp);
      make_dx(stage);
      if constexpr (!G::kEarly) start_dv(stage);
      share_dx();
      start_dq();
      start_dk(stage);
      ptx::wgmma_wait<1>();
      ptx::wgmma_settle(dq);
      release(storage.empty_do[stage]);
      add_dq(step);
      ptx::wgmma_wait<0>();
      release(storage.empty_q[stage]);
      turn ^= 1;
    }
    ptx::wgmma_wait<0>();
    if (G::kTakes || steps > 0) {
      release(storage.empty_keys[keys.stage]);
      keys.advance();
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
}

}  // namespace tilewright::attention
