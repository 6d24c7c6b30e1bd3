// SPDX-License-Identifier: Apache-2.0
#pragma once

// A warpgroup of the wgmma_ahead kernel: dk and dv of its 64 keys, and its share of dq. A step's dq, and with dk=0 its
// dk, follow the next step's x, so that the tensor cores have work while weights are computed:
//
//   tensor cores   x₁   dq₀   dk₀   dp₁       dv₁    x₂   dq₁ …
//   thread              p₁ ──── dq₀ ─── p₁    dx₁         p₂ ─── …
//
// With joins=1 the first step of a piece does so for the last step of the piece before. No product is in flight where
// the loop begins again (wgmma_keys.cuh); dv's would also take the registers of old and new weights at once.

#include "attention/rounding.cuh"
#include "attention/softmax.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/global_reduce.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/ring.cuh"
#include "wgmma_ahead_geometry.cuh"
#include "wgmma_keys.cuh"
#include "wgmma_multiply.cuh"

namespace tilewright::attention {

template <class Config>
__device__ __forceinline__ void gradients_ahead(typename BackwardTiles<Config>::Storage& storage,
                                                const BackwardProblem& problem, float* sums_dq,
                                                const KeyGradient<typename Config::dtype>& to_dk,
                                                const KeyGradient<typename Config::dtype>& to_dv, float scale,
                                                int warpgroup, int thread) {
  using G = BackwardTiles<Config>;
  using T = typename G::T;
  using Products = BackwardProducts<Config>;
  constexpr int kStepsQ = G::kQueries / G::kStep, kEights = G::kQueries / 8;
  // The weights' columns (groups of 8) before the products of dk and dq, and before that of dp.
  constexpr int kFirst = kEights * G::kLead / 4, kSecond = kEights * (G::kLead + 2) / 4;
  constexpr int kHalf = kStepsQ / 2;
  constexpr int kDueDk = G::kDkAtOnce ? 0 : 1;  // groups of products behind dq's
  const int lane = thread % kWarpSize;
  const float factor = scale * kLog2E;
  const int own_rows = warpgroup * G::kOwn * G::kRowBytes;
  // The place of the lane's row in a matrix of dx (BackwardProducts::store_dx).
  const int matrix = lane / 8, row_of_eight = lane % 8;
  const int dx_row = warpgroup * G::kOwn + thread / kWarpSize * 16 + matrix % 2 * 8 + row_of_eight;

  float dk[G::kHead / 2], dv[G::kHeadV / 2];
  float x[G::kScores], dp[G::kScores], dq[G::kSumsDq];
  u32 p[kStepsQ][4], dx[kStepsQ][4];

  Ring<G::kStages> ring;
  Ring<G::kKeyStages> keys;
  Ring<G::kDxBuffers> buffer;
  u32 parity_dq = 0;
  // Whether a step's dk and dq are due, its stages, and the piece whose dk and dv the registers have.
  bool is_due = false;
  u32 stage_before = 0, keys_before = 0;
  float* dq_before = nullptr;  // the thread's part of the tile's sums, if threads add
  BackwardWork summed{};
  BackwardWork work{};
  i32 warp_key = 0;  // the warp's first

  const auto arrive = [&](u64& barrier) {
    if (lane == 0) ptx::mbarrier_arrive(&barrier);
  };
  // Publishes the warp's writes to shared memory to all threads, bulk copies and products.
  const auto announce = [&](u64& full) {
    ptx::fence_shared_to_async();
    __syncwarp();
    arrive(full);
  };
  // Turns x into p, for the kFrom'th to the kTo'th 8 queries. Queries are columns: of each 8 the thread has 8j + 2t and
  // the next one.
  const auto weigh = [&]<int kFrom, int kTo>(i32 step, u32 stage) {
    const float* const lse = storage.lse[stage] + lane % 4 * 2;
#pragma unroll
    for (int j = kFrom; j < kTo; ++j) {
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
    if (is_whole) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const i32 row = lane / 4 + half * 8, distance = from_diagonal + row - lane % 4 * 2;
      const bool exists = warp_key + row < problem.keys;
#pragma unroll
      for (int i = kFrom * 2; i < kTo * 2; ++i) {
        const int column = i / 2 * 8 + i % 2, at = i / 2 * 4 + half * 2 + i % 2;
        const bool is_seen =
            exists && (!G::kMasked || (distance - column <= problem.last && distance - column >= problem.first));
        x[at] = is_seen ? x[at] : 0.0f;
      }
    }
  };
  // Starts dv's product, and stores dx, without the factor `scale`, to shared memory: half by half, so that the
  // registers of one half serve the other.
  const auto finish_weights = [&](u32 stage) {
    const float* const delta = storage.delta[stage] + lane % 4 * 2;
    const u64 rows_do = ptx::matrix_descriptor(storage.d_o[stage], G::kQueries * G::kRowBytes, G::kEightRows);
    const u64 rows_q = ptx::matrix_descriptor(storage.q[stage], G::kQueries * G::kRowBytes, G::kEightRows);
    unsigned char* const own_dx = storage.dx[buffer.stage];
#pragma unroll
    for (int first = 0; first < kStepsQ; first += kHalf) {
      const int last = first + kHalf < kStepsQ ? first + kHalf : kStepsQ;
#pragma unroll
      for (int i = first; i < last; ++i) round_step<T>(p[i], x, i);
      ptx::wgmma_fence();
#pragma unroll
      for (int i = first; i < last; ++i) {
        ptx::wgmma_registers<T, G::kHeadV>(dv, p[i], ptx::advance(rows_do, i * G::kStepRows), true);
      }
      if (last == kStepsQ && !G::kDkAtOnce) ptx::wgmma_commit();
#pragma unroll
      for (int i = first; i < last; ++i) {
#pragma unroll
        for (int j = 2 * i; j < 2 * i + 2; ++j) {
          const float low = delta[j * 8], high = delta[j * 8 + 1];
          dp[4 * j] = x[4 * j] * (dp[4 * j] - low);
          dp[4 * j + 1] = x[4 * j + 1] * (dp[4 * j + 1] - high);
          dp[4 * j + 2] = x[4 * j + 2] * (dp[4 * j + 2] - low);
          dp[4 * j + 3] = x[4 * j + 3] * (dp[4 * j + 3] - high);
        }
        round_step<T>(dx[i], dp, i);
        const int chunk = i % G::kStepsOfPart * 2 + matrix / 2;  // of 8 queries
        ptx::stmatrix_x4(
            own_dx + (i / G::kStepsOfPart * G::kKeys + dx_row) * G::kRowBytes + (chunk ^ row_of_eight) * 16, dx[i]);
      }
      if (last == kStepsQ) announce(storage.full_dx[buffer.stage]);
      if constexpr (G::kDkAtOnce) {
        ptx::wgmma_fence();
#pragma unroll
        for (int i = first; i < last; ++i) {
          ptx::wgmma_registers<T, G::kHead>(dk, dx[i], ptx::advance(rows_q, i * G::kStepRows), true);
        }
        if (last == kStepsQ) ptx::wgmma_commit();
      }
    }
  };

  const auto start_x = [&](u32 stage) {
    ptx::wgmma_fence();
    Products::template start_scores<G::kParts>(x, storage.k[keys.stage] + own_rows, storage.q[stage]);
  };
  const auto start_dp = [&](u32 stage) {
    ptx::wgmma_fence();
    Products::template start_scores<G::kPartsV>(dp, storage.v[keys.stage] + own_rows, storage.d_o[stage]);
  };
  // Starts this warpgroup's share of dq, and dk, from dx in shared memory.
  const auto start_due = [&](u32 stage) {
    ptx::mbarrier_wait(&storage.full_dx[buffer.stage], buffer.parity);
    const unsigned char* const own_dx = storage.dx[buffer.stage];
    ptx::wgmma_fence();
    Products::start_dq(dq, storage.k[keys_before], own_dx, warpgroup);
    if constexpr (G::kDkAtOnce) return;
    const u64 a = ptx::matrix_descriptor(own_dx + own_rows, 0, G::kEightRows);
    const u64 b = ptx::matrix_descriptor(storage.q[stage], G::kQueries * G::kRowBytes, G::kEightRows);
#pragma unroll
    for (int step = 0; step < kStepsQ; ++step) {
      const u32 along = static_cast<u32>(step / G::kStepsOfPart) * (G::kKeys * G::kRowBytes) +
                        static_cast<u32>(step % G::kStepsOfPart) * G::kStepBytes;
      ptx::wgmma<T, G::kHead, false, true>(dk, ptx::advance(a, along), ptx::advance(b, step * G::kStepRows), true);
    }
    ptx::wgmma_commit();
  };
  // Passes dq to the thread that adds it, in register order: four floats a thread, 512 contiguous bytes a warp.
  const auto add_dq = [&] {
    ptx::wgmma_settle(dq);
    if constexpr (!G::kBulk) {
#pragma unroll
      for (int j = 0; j < G::kSumsDq / 4; ++j) {
        ptx::reduce_add(dq_before + j * G::kWarpgroup * 4, dq[4 * j], dq[4 * j + 1], dq[4 * j + 2], dq[4 * j + 3]);
      }
      return;
    }
    float* const own_dq = storage.dq[warpgroup] + thread * 4;
    ptx::mbarrier_wait(&storage.empty_dq[warpgroup], parity_dq ^ 1);
#pragma unroll
    for (int j = 0; j < G::kSumsDq / 4; ++j) {
      *reinterpret_cast<float4*>(own_dq + j * G::kWarpgroup * 4) =
          float4{dq[4 * j], dq[4 * j + 1], dq[4 * j + 2], dq[4 * j + 3]};
    }
    announce(storage.full_dq[warpgroup]);
    parity_dq ^= 1;
  };
  // Releases dx and q of the due step, whose products have read them.
  const auto release_before = [&] {
    if constexpr (G::kDxBuffers == 1) arrive(storage.empty_dx[0]);
    if constexpr (!G::kDkAtOnce) arrive(storage.empty_q[stage_before]);
  };
  // From p to dv and dx. The buffer of dx is the next to be read. With two buffers, both warpgroups have read dx of two
  // steps before, or the other would not have stored the last one.
  const auto finish_step = [&](i32 step, u32 stage) {
    if constexpr (G::kDxBuffers == 1) ptx::mbarrier_wait(&storage.empty_dx[0], buffer.parity ^ 1);
    finish_weights(stage);
    ptx::wgmma_wait<0>();
    ptx::wgmma_settle(dv);
    arrive(storage.empty_do[stage]);
    if constexpr (G::kDkAtOnce) {
      ptx::wgmma_settle(dk);
      arrive(storage.empty_q[stage]);
    }
    stage_before = stage;
    if constexpr (!G::kBulk) {
      dq_before = sums_dq + tile_of<G>(problem, work, step) * G::kTileDq + warpgroup * G::kShareDq + thread * 4;
    }
    ring.advance();
  };

  const auto clear = [&] {
#pragma unroll
    for (float& each : dk) each = 0.0f;
#pragma unroll
    for (float& each : dv) each = 0.0f;
    ptx::wgmma_settle(dk);  // zeros are there before the first product begins
    ptx::wgmma_settle(dv);
  };
  // Stores dk and dv of a piece, whose keys have been read.
  const auto store_gradients = [&](const BackwardWork& of, u32 of_keys) {
    if (G::kTakes || of.steps() > 0) arrive(storage.empty_keys[of_keys]);
    T *rows[2], *rows_v[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const i32 key = of.first_key + warpgroup * G::kOwn + thread / kWarpSize * 16 + lane / 4 + half * 8;
      const bool exists = key < problem.keys;
      rows[half] =
          exists ? to_dk.data + of.batch * to_dk.batch + key * to_dk.token + of.key_head * to_dk.head : nullptr;
      rows_v[half] =
          exists ? to_dv.data + of.batch * to_dv.batch + key * to_dv.token + of.key_head * to_dv.head : nullptr;
    }
    store_gradient<T, G::kHead>(dk, rows, to_dk.columns, scale, lane);
    store_gradient<T, G::kHeadV>(dv, rows_v, to_dv.columns, 1.0f, lane);
    clear();
  };
  // Finishes the due step if no further step hides it.
  const auto finish_piece = [&] {
    start_due(stage_before);
    ptx::wgmma_wait<kDueDk>();
    add_dq();
    ptx::wgmma_wait<0>();
    ptx::wgmma_settle(dk);
    release_before();
    buffer.advance();
    is_due = false;
    store_gradients(summed, keys_before);
  };

  clear();
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
    if (steps == 0) {
      if (is_due) finish_piece();
      store_gradients(work, keys.stage);
      if (G::kTakes) keys.advance();
      continue;
    }
    if (!G::kTakes) ptx::mbarrier_wait(&storage.full_k[keys.stage], keys.parity);
    i32 step = 0;
    if (!is_due) {
      ptx::mbarrier_wait(&storage.full_q[ring.stage], ring.parity);
      start_x(ring.stage);
      ptx::wgmma_wait<0>();
      ptx::wgmma_settle(x);
      weigh.template operator()<0, kEights>(0, ring.stage);
      ptx::mbarrier_wait(&storage.full_v[keys.stage], keys.parity);
      ptx::mbarrier_wait(&storage.full_do[ring.stage], ring.parity);
      start_dp(ring.stage);
      ptx::wgmma_wait<0>();
      ptx::wgmma_settle(dp);
      finish_step(0, ring.stage);
      summed = work;
      keys_before = keys.stage;
      is_due = true;
      step = 1;
    }

#pragma unroll 1
    for (; step < steps; ++step) {
      const u32 stage = ring.stage;
      ptx::mbarrier_wait(&storage.full_q[stage], ring.parity);
      start_x(stage);
      if constexpr (G::kLead == 0) start_due(stage_before);
      ptx::wgmma_wait<G::kLead == 0 ? 1 + kDueDk : 0>();
      ptx::wgmma_settle(x);
      weigh.template operator()<0, kFirst>(step, stage);
      if constexpr (G::kLead > 0) start_due(stage_before);
      weigh.template operator()<kFirst, kSecond>(step, stage);
      ptx::wgmma_wait<kDueDk>();
      add_dq();
      if (G::kJoins && step == 0) {
        ptx::wgmma_wait<0>();
        ptx::wgmma_settle(dk);
        store_gradients(summed, keys_before);
        summed = work;
        keys_before = keys.stage;
        ptx::mbarrier_wait(&storage.full_v[keys.stage], keys.parity);
      }
      ptx::mbarrier_wait(&storage.full_do[stage], ring.parity);
      start_dp(stage);
      weigh.template operator()<kSecond, kEights>(step, stage);
      if constexpr (!G::kDkAtOnce) {
        ptx::wgmma_wait<1>();
        ptx::wgmma_settle(dk);
      }
      release_before();
      buffer.advance();
      ptx::wgmma_wait<0>();
      ptx::wgmma_settle(dp);
      finish_step(step, stage);
    }
    if constexpr (!G::kJoins) finish_piece();
    keys.advance();
  }
  if (is_due) finish_piece();
}

}  // namespace tilewright::attention
