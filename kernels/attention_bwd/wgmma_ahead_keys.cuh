// SPDX-License-Identifier: Apache-2.0
#pragma once

// A warpgroup of the wgmma_ahead kernel: dk and dv of its 64 keys, and its share of dq. A step's dq follows the next
// step's x, so that the tensor cores have work while weights are computed:
//
//   tensor cores   x₁   dq₀        dp₁      dv₁ dk₁   x₂   dq₁ …
//   thread              p₁ ─── dq₀ ─── p₁   dx₁            p₂ ─── …
//
// With joins=1 the first step of a piece does so for the last step of the piece before. No product is in flight where
// the loop begins again (wgmma_keys.cuh); dv's would also take the registers of old and new weights at once.

#include "attention/rounding.cuh"
#include "attention/softmax.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/ring.cuh"
#include "wgmma_ahead_geometry.cuh"
#include "wgmma_keys.cuh"
#include "wgmma_multiply.cuh"

namespace tilewright::attention {

template <class Config>
__device__ __forceinline__ void gradients_ahead(typename BackwardTiles<Config>::Storage& storage,
                                                const BackwardProblem& problem,
                                                const KeyGradient<typename Config::dtype>& to_dk,
                                                const KeyGradient<typename Config::dtype>& to_dv, float scale,
                                                int warpgroup, int thread) {
  using G = BackwardTiles<Config>;
  using T = typename G::T;
  using Products = BackwardProducts<Config>;
  constexpr int kStepsQ = G::kQueries / G::kStep, kEights = G::kQueries / 8;
  // The weights' columns (groups of 8) before the product of dq, and before that of dp.
  constexpr int kFirst = kEights * G::kLead / 4, kSecond = kEights * (G::kLead + 2) / 4;
  const int lane = thread % kWarpSize;
  const float factor = scale * kLog2E;
  const int own_rows = warpgroup * G::kOwn * G::kRowBytes;
  // The place of the lane's row in a matrix of dx (BackwardProducts::store_dx).
  const int matrix = lane / 8, row_of_eight = lane % 8,
            dx_row = warpgroup * G::kOwn + thread / kWarpSize * 16 + matrix % 2 * 8 + row_of_eight;

  float dk[G::kHead / 2], dv[G::kHeadV / 2];
  float x[G::kScores], dp[G::kScores], dq[G::kSumsDq];
  u32 p[kStepsQ][4], dx[kStepsQ][4];

  Ring<G::kStages> ring;
  Ring<G::kKeyStages> keys;
  Ring<2> buffer;  // of dx
  u32 parity_dq = 0;
  BackwardWork work{};
  i32 warp_key = 0;  // the warp's first
  // Whether the last step's dq is due, the stage of its keys, and the piece whose dk and dv the registers have.
  bool is_due = false;
  u32 keys_before = 0;
  BackwardWork summed{};

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
  const auto weigh = [&]<int kFrom, int kTo>(i32 step) {
    const float* const lse = storage.lse[ring.stage] + lane % 4 * 2;
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
  const auto start_x = [&] {
    ptx::mbarrier_wait(&storage.full_q[ring.stage], ring.parity);
    ptx::wgmma_fence();
    Products::template start_scores<G::kParts>(x, storage.k[keys.stage] + own_rows, storage.q[ring.stage]);
  };
  const auto start_dp = [&] {
    ptx::mbarrier_wait(&storage.full_do[ring.stage], ring.parity);
    ptx::wgmma_fence();
    Products::template start_scores<G::kPartsV>(dp, storage.v[keys.stage] + own_rows, storage.d_o[ring.stage]);
  };
  // Starts dv and dk, and stores dx, without the factor `scale`, to shared memory: half by half, so that the registers
  // of one half serve the other. Both warpgroups have read the buffer's dx of two steps before, or the other would not
  // have stored the last one.
  const auto start_dv_dk = [&] {
    const float* const delta = storage.delta[ring.stage] + lane % 4 * 2;
    const u64 rows_do = ptx::matrix_descriptor(storage.d_o[ring.stage], G::kQueries * G::kRowBytes, G::kEightRows);
    const u64 rows_q = ptx::matrix_descriptor(storage.q[ring.stage], G::kQueries * G::kRowBytes, G::kEightRows);
    unsigned char* const own_dx = storage.dx[buffer.stage];
#pragma unroll
    for (int first = 0; first < kStepsQ; first += kStepsQ / 2) {
      const int last = first + kStepsQ / 2;
#pragma unroll
      for (int i = first; i < last; ++i) round_step<T>(p[i], x, i);
      ptx::wgmma_fence();
#pragma unroll
      for (int i = first; i < last; ++i) {
        ptx::wgmma_registers<T, G::kHeadV>(dv, p[i], ptx::advance(rows_do, i * G::kStepRows), true);
      }
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
      ptx::wgmma_fence();
#pragma unroll
      for (int i = first; i < last; ++i) {
        ptx::wgmma_registers<T, G::kHead>(dk, dx[i], ptx::advance(rows_q, i * G::kStepRows), true);
      }
    }
    ptx::wgmma_commit();
  };
  // Starts this warpgroup's share of the due dq.
  const auto start_dq = [&] {
    ptx::mbarrier_wait(&storage.full_dx[buffer.stage], buffer.parity);
    ptx::wgmma_fence();
    Products::start_dq(dq, storage.k[keys_before], storage.dx[buffer.stage], warpgroup);
  };
  // Passes the due dq to the thread that adds it, in register order: four floats a thread, 512 contiguous bytes a warp.
  const auto pass_dq = [&] {
    ptx::wgmma_wait<0>();
    ptx::wgmma_settle(dq);
    float* const own_dq = storage.dq[warpgroup] + thread * 4;
    ptx::mbarrier_wait(&storage.empty_dq[warpgroup], parity_dq ^ 1);
#pragma unroll
    for (int j = 0; j < G::kSumsDq / 4; ++j) {
      *reinterpret_cast<float4*>(own_dq + j * G::kWarpgroup * 4) =
          float4{dq[4 * j], dq[4 * j + 1], dq[4 * j + 2], dq[4 * j + 3]};
    }
    announce(storage.full_dq[warpgroup]);
    parity_dq ^= 1;
    buffer.advance();
  };
  // Computes dv, dk and dx from p and the product dp; dq is then due.
  const auto finish_step = [&] {
    ptx::wgmma_wait<0>();
    ptx::wgmma_settle(dp);
    start_dv_dk();
    ptx::wgmma_wait<0>();
    ptx::wgmma_settle(dv);
    arrive(storage.empty_do[ring.stage]);
    ptx::wgmma_settle(dk);
    arrive(storage.empty_q[ring.stage]);
    ring.advance();
    is_due = true;
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
  // Makes dk and dv those of the piece in `work`.
  const auto take_piece = [&] {
    summed = work;
    keys_before = keys.stage;
    ptx::mbarrier_wait(&storage.full_v[keys.stage], keys.parity);
  };
  // Finishes a piece whose last dq no further step hides.
  const auto finish_piece = [&] {
    start_dq();
    pass_dq();
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
    if (!is_due) {  // no dq runs beside the first weights
      start_x();
      ptx::wgmma_wait<0>();
      ptx::wgmma_settle(x);
      weigh.template operator()<0, kEights>(step);
      take_piece();
      start_dp();
      finish_step();
      ++step;
    }
#pragma unroll 1
    for (; step < steps; ++step) {
      start_x();
      if constexpr (G::kLead == 0) start_dq();
      ptx::wgmma_wait<G::kLead == 0 ? 1 : 0>();
      ptx::wgmma_settle(x);
      weigh.template operator()<0, kFirst>(step);
      if constexpr (G::kLead > 0) start_dq();
      weigh.template operator()<kFirst, kSecond>(step);
      pass_dq();
      if (G::kJoins && step == 0) {
        store_gradients(summed, keys_before);
        take_piece();
      }
      start_dp();
      weigh.template operator()<kSecond, kEights>(step);
      finish_step();
    }
    if constexpr (!G::kJoins) finish_piece();
    keys.advance();
  }
  if (is_due) finish_piece();
}

}  // namespace tilewright::attention
