// SPDX-License-Identifier: Apache-2.0
#pragma once

// A block of queries of one head of a sequence, by the warps and tiles of attention/mma.cu: the index'th block of
// queries, counted over sequences.

#include "attention/base_tile.cuh"
#include "device/config.cuh"

namespace tilewright::attention {

// A block of queries of a sequence.
struct Piece {
  i32 batch, block;
};

// Finds the index'th block of block_m queries, counted over sequences; batch is `batches` if there are fewer. A warp
// calls.
template <class Config>
__device__ __forceinline__ Piece find_piece(const i32* cu_q, i32 batches, i32 index, int lane) {
  i32 before = 0;
  for (i32 first = 0; first < batches; first += kWarpSize) {
    const i32 batch = first + lane;
    const i32 own = batch < batches ? ceil_div(cu_q[batch + 1] - cu_q[batch], i32{Config::block_m}) : 0;
    i32 upto = own;
#pragma unroll
    for (int step = 1; step < kWarpSize; step *= 2) {
      const i32 other = __shfl_up_sync(kFullMask, upto, step);
      if (lane >= step) upto += other;
    }
    const u32 behind = __ballot_sync(kFullMask, before + upto > index);
    if (behind != 0) {
      const int which = __ffs(static_cast<int>(behind)) - 1;
      return {first + which, index - before - __shfl_sync(kFullMask, upto - own, which)};
    }
    before += __shfl_sync(kFullMask, upto, kWarpSize - 1);
  }
  return {batches, 0};
}

// The parameters of varlen's kernels.
template <class T>
struct Sequences {
  const T *q, *k, *v;
  const i32 *cu_q, *cu_k;
  T* o;
  float* lse;
  i64 q_token, q_head, k_token, k_head, v_token, v_head, o_token, o_head;
  i64 batch, tokens_q, hq, hkv, d, dv;
};

template <class Config, class T>
__device__ __forceinline__ void run_piece(const Sequences<T>& call, i32 left, i32 right, const Scale& scale, i32 index,
                                          i32 head) {
  using G = MmaGeometry<Config>;
  static_assert(Config::pack == 1, "a block has rows of one head");
  const i32 batches = static_cast<i32>(call.batch);
  const Piece piece = find_piece<Config>(call.cu_q, batches, index, static_cast<int>(threadIdx.x) % kWarpSize);
  if (piece.batch == batches) return;
  const i32 first_query = call.cu_q[piece.batch], queries = call.cu_q[piece.batch + 1] - first_query;
  const i32 first_key = call.cu_k[piece.batch], keys = call.cu_k[piece.batch + 1] - first_key;
  const Problem problem = make_problem(1, call.hq, call.hkv, queries, keys, left, right, 1);

  // Longest first if the mask is causal.
  const i32 row_blocks = ceil_div(queries, i32{G::kBlockM});
  Work work{};
  work.row = (G::kCausal ? row_blocks - 1 - piece.block : piece.block) * G::kBlockM;
  work.head = head;
  const KeyRange range = keys_of<G::kCausal, G::kWindow>(problem, work.row, work.row + G::kBlockM - 1);
  work.last_block = ceil_div(range.end, i32{G::kBlockN}) - 1;
  work.first_block = range.first / G::kBlockN < work.last_block ? range.first / G::kBlockN : work.last_block;
  if (work.last_block < 0) work.first_block = work.last_block = 0;

  // lse is [hq, tokens_q], but the warp steps by the sequence's queries from head to head: offset its start.
  float* const own_lse = G::kLse ? call.lse + first_query + i64{work.head} * (call.tokens_q - queries) : nullptr;
  const MmaArguments<Config> arguments{{call.q + first_query * call.q_token, 0, call.q_token, call.q_head},
                                       {call.k + first_key * call.k_token, 0, call.k_token, call.k_head},
                                       {call.v + first_key * call.v_token, 0, call.v_token, call.v_head},
                                       {call.o + first_query * call.o_token, 0, call.o_token, call.o_head},
                                       own_lse,
                                       static_cast<i32>(call.d),
                                       static_cast<i32>(call.dv)};
  run_mma(arguments, problem, scale, work);
}

}  // namespace tilewright::attention
