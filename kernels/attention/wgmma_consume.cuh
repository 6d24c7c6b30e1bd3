// SPDX-License-Identifier: Apache-2.0
#pragma once

// A block of the wgmma kernel: two warps copy, each consumer warpgroup has 64 rows. A consumer's products run while it
// works on the scores of another block of keys:
//
//   tensor cores   q k₁ᵀ │ q k₂ᵀ  p₁ v₁ │ q k₃ᵀ  p₂ v₂ │ …
//   consumer             │ softmax 2    │ softmax 3     │
//
// The first block of the next piece follows the last one of a piece in the same way.
//
// `Pieces` supplies the work, of one problem (wgmma_dense.cuh) or of many sequences (attention_varlen). With its
// kEndsFirst (wgmma_wide.cu) queries have one stage, and a piece's last product starts before the wait for the next
// queries:
//
//   tensor cores   q k₂ᵀ  p₁ v₁ │ p₂ v₂  q′ k₁ᵀ │ q′ k₂ᵀ  p′₁ v₁ │ …
//   copies                      q′ ──────▶
//   consumer       │ softmax 2  │     │ softmax 1 │

#include "device/bits.cuh"
#include "device/ptx/barrier.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/mbarrier.cuh"
#include "device/ptx/opaque.cuh"
#include "device/ptx/register_count.cuh"
#include "device/ptx/tensor_copy.cuh"
#include "device/ptx/wgmma.cuh"
#include "rounding.cuh"
#include "softmax.cuh"
#include "wgmma_again.cuh"
#include "wgmma_geometry.cuh"
#include "wgmma_multiply.cuh"
#include "wgmma_store.cuh"
#include "wgmma_walk.cuh"
#include "work.cuh"

namespace tilewright::attention {

// Named barriers: a turn for each warpgroup, and one of all consumers.
inline constexpr u32 kTurn = 1, kAllConsumers = 5;

// Runs a warpgroup, piece after piece. `pieces` gives the problem and the output of a piece by its number.
template <class Config, class Pieces>
__device__ __forceinline__ void consume(typename Geometry<Config>::Storage& storage, const Pieces& pieces,
                                        const Scale& scale, int warpgroup, int thread) {
  using G = Geometry<Config>;
  using T = typename G::T;
  constexpr u32 kPair = 2 * G::kWarpgroup;
  // Whether a piece's end has its own copy of the products in the code, which is faster without a mask.
  constexpr bool kOwnProducts = Pieces::kEndsFirst && !G::kSkips;
  // Computed where needed: the loop has no registers to spare for values needed once a piece.
  const auto lane = [&] { return ptx::opaque(thread) % kWarpSize; };
  const auto warp_row = [&] { return warpgroup * G::kWarpgroupRows + ptx::opaque(thread) / kWarpSize * 16; };
  const auto own_row = [&] { return warp_row() + lane() / 4; };
  const u32 own_turn = kTurn + static_cast<u32>(warpgroup);
  const u32 next_turn = warpgroup + 1 == G::kConsumers ? u32{kTurn} : own_turn + 1;

  Multiplier<Config> multiplier{storage, warpgroup, thread, 0, {}, {}};
  float scores[G::kScores], results[G::kResults];
  u32 weights[G::kStepsV][4];
  Rows rows = fresh_rows();
  float rescale[2] = {1.0f, 1.0f};
  Walk<Config> walk;
  // Scales, caps and masks raw scores.
  const auto finish_scores = [&] {
    change_scores<G::kSoftcap>(scores, scale);
    if (!walk.is_whole()) {
      mask_block<Config>(scores, pieces.problem(multiplier.piece), multiplier.work().row + own_row(), walk.block,
                         lane());
    }
  };
  // Ends the previous piece.
  const auto end_piece = [&](Rows& ended) {
    const Work& work = multiplier.work_before();
    const u32 before = multiplier.piece - 1;
    end_rows<Config>(pieces.output(before, work.head), pieces.problem(before), work, ended, own_row(), lane(),
                     scale.factor);
  };
  const auto store_piece = [&](const Rows& ended) {
    const Work& work = multiplier.work_before();
    const u32 before = multiplier.piece - 1;
    store_results<Config>(pieces.output(before, work.head), pieces.problem(before), work, ended, results, own_row(),
                          lane());
  };
  const auto scale_results = [&] {
#pragma unroll
    for (int i = 0; i < G::kResults; ++i) results[i] *= rescale[i / 2 % 2];
  };
  float rounded[2];  // sums of the block's rounded weights
  u32 large;         // bits of the weights not gathered before
  const auto round_weights = [&] {
    rounded[0] = rounded[1] = 0.0f;
    large = 0;
#pragma unroll
    for (int step = 0; step < G::kStepsV; ++step) {
      round_step<T>(weights[step], scores, step);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (G::kLse || step * 8 >= G::kLead) large |= weights[step][i];
        if constexpr (!G::kOnes) rounded[i % 2] = add_pair<T>(rounded[i % 2], weights[step][i]);
      }
    }
  };
  const auto add_rounded = [&] {
    rows.rounded_sum[0] += rounded[0];
    rows.rounded_sum[1] += rounded[1];
  };

  // Blocks for other warpgroups alone take a turn each. Their rings are copies: the compiler then sees that all lanes
  // have the same stage of the others, and keeps descriptors in uniform registers.
  const auto skip_keys = [&](i32 blocks) {
    if constexpr (G::kSkips) {
      Multiplier<Config> passing = multiplier;
#pragma unroll 1
      for (i32 left = blocks; left > 0; --left) {
        passing.wait_keys();
        if constexpr (G::kPingPong) {
          ptx::barrier_sync(own_turn, kPair);
          ptx::barrier_arrive(next_turn, kPair);
        }
        passing.release_keys(false);
      }
      multiplier.keys.advance(static_cast<u32>(blocks));
    }
  };
  const auto skip_values = [&](i32 blocks) {
    if constexpr (G::kSkips) {
      Multiplier<Config> passing = multiplier;
#pragma unroll 1
      for (; blocks > 0; --blocks) {
        passing.wait_values();
        passing.release_values();
      }
    }
  };
  // A block's values are one turn behind the next block's keys.
  const auto find_values = [&] {
    if constexpr (G::kSkips) multiplier.values = multiplier.before(multiplier.keys);
  };
  const auto start_scores = [&] {
    multiplier.wait_keys();
    if constexpr (G::kPingPong) ptx::barrier_sync(own_turn, kPair);
    ptx::wgmma_fence();
    multiplier.start_scores(scores);
  };
  const auto start_results = [&](bool accumulate) {
    multiplier.wait_values();
    ptx::wgmma_fence();
    multiplier.start_results(results, weights, accumulate);
  };
  const auto pass_turn = [&] {
    if constexpr (G::kPingPong) ptx::barrier_arrive(next_turn, kPair);
  };

  // Begin with the first block of the first piece.
  multiplier.wait_queries();
  if (multiplier.work().is_end) return;
  i32 skipped = walk.begin(pieces.problem(multiplier.piece), multiplier.work(), warp_row());
  if constexpr (G::kPingPong) {
    if (warpgroup + 1 == G::kConsumers) ptx::barrier_arrive(kTurn, kPair);
  }
  skip_keys(skipped);
  skip_values(skipped);
  multiplier.wait_keys();
  ptx::wgmma_fence();
  multiplier.start_scores(scores);
  ptx::wgmma_wait<0>();
  ptx::wgmma_settle(scores);
  multiplier.release_keys(walk.is_last());
  finish_scores();
  raise_bases(rows, scores, rescale, scale.factor);
  bool is_unset = has_unset(rows);
  weigh<G::kLse, false, 0, G::kScores>(rows, scores, scale.factor);
  round_weights();
  add_rounded();

  // The weights of a block are ready; start with the scores of the next one, of this piece or another.
  bool accumulate = false;
  while (true) {
    const bool ends_piece = walk.is_last();
    find_values();
    if (ends_piece) {
      if constexpr (Pieces::kEndsFirst) start_results(accumulate);
      ++multiplier.piece;
      multiplier.wait_queries();
      const Work& next = multiplier.work();
      if (next.is_end) break;
      skipped = walk.begin(pieces.problem(multiplier.piece), next, warp_row());
      skip_keys(skipped);
      if constexpr (kOwnProducts) {
        start_scores();
        pass_turn();
        ptx::wgmma_wait<0>();
      }
    } else {
      --walk.block;
      if constexpr (kOwnProducts) {
        start_scores();
        start_results(accumulate);
        pass_turn();
        ptx::wgmma_wait<1>();
      }
    }

    // Start the products, and wait for the scores.
    if constexpr (!kOwnProducts) {
      if (Pieces::kEndsFirst && ends_piece) {
        start_scores();
        pass_turn();
        ptx::wgmma_wait<0>();
      } else {
        start_scores();
        start_results(accumulate);
        pass_turn();
        ptx::wgmma_wait<1>();
      }
    }

    // Compute the softmax under the second product, as much of it as takes that long. A block without a search may have
    // to be computed again, and keeps its keys (and queries, if they have several stages) until it is clear that it
    // need not.
    ptx::wgmma_settle(scores);
    const bool is_last = walk.is_last();
    const bool is_seen = !G::kKeepBase || ends_piece || is_unset || (G::kQueryStages == 1 && is_last);
    if (is_seen) multiplier.release_keys(is_last);
    Rows ended = rows;
    if (ends_piece) rows = fresh_rows();
    finish_scores();
    bool moved = false;
    if (is_seen) {
      moved = raise_bases(rows, scores, rescale, scale.factor);
      if constexpr (G::kKeepBase) is_unset = has_unset(rows);
    }
    // Save the sums in case the block is computed again; nothing needs rescaling so far.
    if (!is_seen) rescale[0] = rows.sum[0], rescale[1] = rows.sum[1];
    weigh<G::kLse, !G::kLse, 0, G::kLead>(rows, scores, scale.factor);
    // A branch that is never taken keeps these weights before the wait; the compiler would move them behind it.
    const bool is_never = is_negative<G::kLse>(rows);
    if constexpr (G::kLse || !G::kOnes) {
      if (ends_piece || is_never) end_piece(ended);
    } else if (is_never) {
      __trap();
    }

    // Wait for the results so far.
    ptx::wgmma_settle(scores);
    ptx::wgmma_wait<0>();
    ptx::wgmma_settle(results);
    multiplier.release_values();
    if (ends_piece) {
      skip_values(skipped);
      store_piece(ended);
    } else if (moved) {
      scale_results();
    }
    weigh<G::kLse, false, G::kLead, G::kScores>(rows, scores, scale.factor);
    round_weights();
    if (!is_seen) {
      if (has_large(rows, large)) {
        const float before[2] = {rescale[0], rescale[1]};
        if (!lower_weights(rows, scores, rescale, scale.factor)) {
          rows.sum[0] = before[0], rows.sum[1] = before[1];
          rescale[0] = rescale[1] = 1.0f;
          score_again<Config>(scores, multiplier.own_queries(), storage.keys(multiplier.keys.stage), lane());
          finish_scores();
          raise_bases(rows, scores, rescale, scale.factor);
          weigh<G::kLse, false, 0, G::kScores>(rows, scores, scale.factor);
        }
        scale_results();
        round_weights();
      }
      multiplier.release_keys(is_last);
    }
    add_rounded();
    accumulate = !ends_piece;
  }

  // End with the last block of the last piece.
  if constexpr (!Pieces::kEndsFirst) start_results(accumulate);
  end_piece(rows);
  ptx::wgmma_wait<0>();
  ptx::wgmma_settle(results);
  store_piece(rows);
}

// All consumers write the column of ones beside the values of each stage, while the first copies are in flight. The
// ones stay: copies fill only the place before them.
template <class Config>
__device__ __forceinline__ void place_ones(typename Geometry<Config>::Storage& storage, int thread) {
  using G = Geometry<Config>;
  constexpr int kConsumerThreads = G::kConsumers * G::kWarpgroup;
  const u32 pair = round_pair<typename G::T>(1.0f, 1.0f);
  for (int i = thread; i < G::kStages * G::kBlockN; i += kConsumerThreads) {
    const int key = i % G::kBlockN;
    unsigned char* const row = storage.before_ones(i / G::kBlockN) + G::kBytesV + key * G::kRowBytes;
    *reinterpret_cast<Bits128*>(row + key % 8 * 16) = {pair, pair, pair, pair};  // the first 8 columns, swizzled
  }
  ptx::fence_shared_to_async();
  ptx::barrier_sync(kAllConsumers, kConsumerThreads);
}

// Runs a block: by `pieces` the first two warps copy the tiles that the consumers multiply.
template <class Config, class Pieces>
__device__ __forceinline__ void run(typename Geometry<Config>::Storage& storage, const TensorMap& map_q,
                                    const TensorMap& map_k, const TensorMap& map_v, const Pieces& pieces,
                                    const Scale& scale) {
  using G = Geometry<Config>;
  const int thread = static_cast<int>(threadIdx.x);
  // The shuffle tells the compiler that all lanes have the same value.
  const int warpgroup = __shfl_sync(kFullMask, thread / G::kWarpgroup, 0);
  constexpr int kWarps = G::kWarpgroup / kWarpSize;

  // Initialise the rings' barriers.
  if (thread == 0) {
    ptx::prefetch_map(map_q);
    ptx::prefetch_map(map_k);
    ptx::prefetch_map(map_v);
    for (int stage = 0; stage < G::kQueryStages; ++stage) {
      ptx::mbarrier_init(&storage.full_q[stage], 1);
      ptx::mbarrier_init(&storage.empty_q[stage], G::kConsumers * kWarps + 1);  // and the warp that copies values
    }
    for (int stage = 0; stage < G::kStages; ++stage) {
      ptx::mbarrier_init(&storage.full_k[stage], 1);
      ptx::mbarrier_init(&storage.empty_k[stage], G::kConsumers * kWarps);
      ptx::mbarrier_init(&storage.full_v[stage], 1);
      ptx::mbarrier_init(&storage.empty_v[stage], G::kConsumers * kWarps);
    }
    pieces.init(storage);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (warpgroup == 0) {
    if constexpr (G::kConsumers > 1) ptx::release_registers<G::kProducerRegisters>();
    if (thread < kWarpSize) pieces.load_queries_and_keys(storage, map_q, map_k, thread);
    if (thread / kWarpSize == 1) pieces.load_values(storage, map_v, thread - kWarpSize);
  } else {
    if constexpr (G::kConsumers > 1) ptx::acquire_registers<G::kConsumerRegisters>();
    if constexpr (G::kOnes) place_ones<Config>(storage, thread - G::kWarpgroup);
    consume<Config>(storage, pieces, scale, warpgroup - 1, thread % G::kWarpgroup);
  }
}

}  // namespace tilewright::attention
