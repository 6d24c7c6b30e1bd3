// SPDX-License-Identifier: Apache-2.0
#pragma once

// The wgmma kernel of attention_bwd: who computes what, and where it lies. docs/kernels/attention.md.
//
// A block has 128 keys of a key head. Its first warpgroup copies; each of the two others owns 64 keys, and dk and dv of
// them in registers. Queries come by, block_m at a time, of all heads of the group:
//
//   x ᵀ = k qᵀ   dpᵀ = v doᵀ     keys × queries, of both operands from shared memory
//   dv += pᵀ do  dk += dxᵀ q     the first operand from registers
//   dqᵀ = kᵀ dxᵀ                 over all 128 keys: dx passes through shared memory
//
// dq is summed in fp32 in global memory. It lies there as the products leave it, four floats a thread; a last kernel
// puts it in order.

#include "device/config.cuh"

namespace tilewright::attention {

template <class Config>
struct BackwardTiles {
  using T = typename Config::dtype;
  enum : bool {
    kMasked = Config::causal == "yes" || Config::window == "yes",
    kOrdered = Config::deterministic == "yes",  // sums of dq, by keys
    kBulk = Config::bulk == 1,                  // dq leaves through shared memory, by a warp of its own
    kTakes = Config::persistent == 2,           // pieces come from a counter, and not in turns
    kEarly = Config::early == 1,                // dv's product begins before dx is worked out
  };
  enum : int {
    kQueries = Config::block_m,
    kHead = Config::block_d,
    kHeadV = Config::block_dv,
    kStages = Config::stages,
    kKeyStages = Config::key_stages,  // of k and v: the next block's come early
    kWarpgroup = 128,
    kConsumers = 2,
    kThreads = kWarpgroup * (1 + kConsumers),
    kOwn = 64,  // keys of a warpgroup
    kKeys = kOwn * kConsumers,
    // Two threads that bring and take away need more than one; wide steps leave none to them.
    kProducerRegisters = kBulk && kQueries != 80 && !kEarly ? 40 : 24,
    kConsumerRegisters = kBulk && kQueries != 80 && !kEarly ? 232 : 240,

    // A tile lies in parts of 128 bytes of columns, each of all of its rows.
    kRowBytes = 128,
    kRowElements = 64,
    kEightRows = 8 * kRowBytes,
    kStep = 16,
    kStepsOfPart = kRowElements / kStep,
    kStepBytes = kStep * 2,         // along a row
    kStepRows = kStep * kRowBytes,  // along the rows of a part
    kParts = kHead / kRowElements,
    kPartsV = kHeadV / kRowElements,
    kPartsX = ceil_div(static_cast<int>(kQueries), static_cast<int>(kRowElements)),
    kBytesK = kKeys * kParts * kRowBytes,
    kBytesV = kKeys * kPartsV * kRowBytes,
    kBytesQ = kQueries * kParts * kRowBytes,
    kBytesDo = kQueries * kPartsV * kRowBytes,
    kBytesDx = kKeys * kPartsX * kRowBytes,
    kTileDq = kQueries * kHead,  // floats

    // What a thread holds of x and dp, and of a warpgroup's share of dqᵀ: 64 columns of d of all queries where d has
    // two parts, else all of d of half of the queries.
    kScores = kQueries / 2,
    kQueriesDq = kParts == 2 ? static_cast<int>(kQueries) : kQueries / 2,
    kSumsDq = kQueriesDq / 2,
  };
  static_assert(sizeof(T) == 2, "elements have 16 bits");
  static_assert((kHead == 64 || kHead == 128) && (kHeadV == 64 || kHeadV == 128), "heads have one part or two");
  static_assert(kQueries % kStep == 0 && kQueriesDq % kStep == 0, "queries are whole steps of the products");
  static_assert(kBulk || !kOrdered, "one warp keeps the order of sums");
  static_assert(kParts == 2 || kQueriesDq == kRowElements, "half of the queries are a part of dx");
  static_assert(kHead / 2 + kHeadV / 2 + 2 * kScores + (kEarly ? kScores / 2 : 0) <= 224,
                "what is summed and weighed stays in registers");

  struct Storage {
    alignas(1024) unsigned char k[kKeyStages][kBytesK];
    alignas(1024) unsigned char v[kKeyStages][kBytesV];
    alignas(1024) unsigned char q[kStages][kBytesQ];
    alignas(1024) unsigned char d_o[kStages][kBytesDo];
    alignas(1024) unsigned char dx[2][kBytesDx];  // keys × queries
    alignas(128) float dq[kBulk ? static_cast<int>(kTileDq) : 4];
    alignas(16) float lse[kStages][kQueries];  // to base 2
    alignas(16) float delta[kStages][kQueries];
    u64 full_k[kKeyStages], full_v[kKeyStages], empty_keys[kKeyStages];
    u64 full_q[kStages], empty_q[kStages];
    u64 full_do[kStages], empty_do[kStages];
    u64 full_dq, empty_dq;
    u32 pieces[kKeyStages];  // whose keys the stage has
  };
  enum : u32 { kNone = 0xffffffff };  // a piece
};

// What every thread knows of the call. Tokens are at most 2^28, limits of what a query sees at most 2^29 from its
// diagonal.
struct BackwardProblem {
  i32 batches, heads, key_heads, queries, keys;
  i32 first, last;   // keys seen, as seen from the query's diagonal
  i32 query_blocks;  // of a head
  u32 together;      // key heads whose work is side by side
  u32 pieces;        // of work: blocks of keys
};

template <class Config>
__device__ __forceinline__ BackwardProblem make_backward_problem(i64 b, i64 hq, i64 hkv, i64 sq, i64 sk, i32 left,
                                                                 i32 right, i64 together) {
  constexpr i32 kFarthest = 1 << 29;
  BackwardProblem problem{};
  problem.batches = static_cast<i32>(b);
  problem.heads = static_cast<i32>(hq);
  problem.key_heads = static_cast<i32>(hkv);
  problem.queries = static_cast<i32>(sq);
  problem.keys = static_cast<i32>(sk);
  problem.first = -kFarthest;
  problem.last = kFarthest;
  problem.together = static_cast<u32>(together);
  problem.pieces =
      static_cast<u32>(b * hkv) * static_cast<u32>(ceil_div(problem.keys, i32{BackwardTiles<Config>::kKeys}));
  if (Config::window == "yes" && left >= 0 && left < kFarthest) problem.first = -left;
  if (Config::window == "yes" && right >= 0 && right < kFarthest) problem.last = right;
  if (Config::causal == "yes") problem.last = 0;
  problem.query_blocks = ceil_div(problem.queries, i32{Config::block_m});
  return problem;
}

// The work of a block: 128 keys, and the blocks of queries that see any of them, of each head of the group.
struct BackwardWork {
  i32 batch, key_head, first_key;
  i32 first_block, blocks, group;

  __device__ __forceinline__ i32 steps() const { return blocks * group; }
  __device__ __forceinline__ i32 head(i32 step) const { return key_head * group + step / blocks; }
  __device__ __forceinline__ i32 block(i32 step) const { return first_block + step % blocks; }
};

// Blocks by number: `together` heads at a time, the first keys of all of them first. Where a mask is causal these are
// seen by the most queries, so that short work comes last.
template <class Config>
__device__ __forceinline__ BackwardWork make_backward_work(const BackwardProblem& problem, u32 index) {
  using G = BackwardTiles<Config>;
  const u32 key_blocks = static_cast<u32>(ceil_div(problem.keys, i32{G::kKeys}));
  const u32 heads = static_cast<u32>(problem.batches) * static_cast<u32>(problem.key_heads);
  const u32 first_head = index / (problem.together * key_blocks) * problem.together,
            inside = index - first_head * key_blocks;
  const u32 width = heads - first_head < problem.together ? heads - first_head : problem.together;
  const u32 head = first_head + inside % width;
  BackwardWork work{};
  work.first_key = static_cast<i32>(inside / width) * G::kKeys;
  work.key_head = static_cast<i32>(head % static_cast<u32>(problem.key_heads));
  work.batch = static_cast<i32>(head / static_cast<u32>(problem.key_heads));
  work.group = problem.heads / problem.key_heads;
  const i32 own = work.first_key - (problem.keys - problem.queries);  // the query whose diagonal the first key is
  const i32 first = own > problem.last ? own - problem.last : 0;
  i32 end = own + G::kKeys - problem.first;
  if (end > problem.queries) end = problem.queries;
  work.first_block = first / G::kQueries;
  work.blocks = end > first ? ceil_div(end, i32{G::kQueries}) - work.first_block : 0;
  return work;
}

// The tile of dq that a step adds to, by batch, head and block.
__device__ __forceinline__ i64 tile_of(const BackwardProblem& problem, const BackwardWork& work, i32 step) {
  return (i64{work.batch} * problem.heads + work.head(step)) * problem.query_blocks + work.block(step);
}

// How many blocks of keys before this one add to a block of queries.
template <class Config>
__device__ __forceinline__ u32 adders_before(const BackwardProblem& problem, const BackwardWork& work, i32 block) {
  using G = BackwardTiles<Config>;
  const i32 own = work.first_key / G::kKeys;
  const i32 first_seen = block * G::kQueries + problem.keys - problem.queries + problem.first;
  const i32 first = first_seen > 0 ? first_seen / G::kKeys : 0;
  return static_cast<u32>(own - first);
}

}  // namespace tilewright::attention
