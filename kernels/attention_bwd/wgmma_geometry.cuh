// SPDX-License-Identifier: Apache-2.0
#pragma once

// The division of work in the wgmma kernel of attention_bwd, and its shared memory (docs/kernels/attention.md).
//
// A block has 128 keys of a key head. Its first warpgroup copies; each of the two others owns 64 keys, with their dk
// and dv in registers. The queries of all heads of the group pass by, block_m at a time:
//
//   x ᵀ = k qᵀ   dpᵀ = v doᵀ     keys × queries, both operands from shared memory
//   dv += pᵀ do  dk += dxᵀ q     A from registers
//   dqᵀ = kᵀ dxᵀ                 over all 128 keys: dx passes through shared memory
//
// dq is summed in fp32 in global memory, in register order, four floats a thread. A last kernel puts it in order.

#include "device/config.cuh"

namespace tilewright::attention {

template <class Config>
struct BackwardTiles {
  using T = typename Config::dtype;
  enum : bool {
    kMasked = Config::causal == "yes" || Config::window == "yes",
    kOrdered = Config::deterministic == "yes",  // sums of dq are in the order of keys
    // kShifts: blocks of a head begin at different queries. kPairs: under a mask, a block takes keys that many queries
    // see, then as many keys that few see.
    kShifts = Config::order == 1 && !kMasked,
    kPairs = Config::order == 1 && kMasked,
    kStores = kOrdered && (kShifts || kPairs),  // the first block that adds to a tile stores
    kBulk = Config::bulk == 1,                  // dq is added from shared memory, by a warp of its own
    kTakes = Config::persistent == 2,           // pieces come from a counter, not in turns
    kEarly = Config::early == 1,                // dv's product begins before dx is computed
  };
  enum : int {
    kQueries = Config::block_m,
    kHead = Config::block_d,
    kHeadV = Config::block_dv,
    kStages = Config::stages,
    kKeyStages = Config::key_stages,  // of k and v: the next block's are copied early
    kWarpgroup = 128,
    kConsumers = 2,
    kAdders = kOrdered ? 2 : 1,  // threads that add dq to its sums, in turns: one waits until its sums have arrived
    kThreads = kWarpgroup * (1 + kConsumers),
    kOwn = 64,  // keys of a warpgroup
    kKeys = kOwn * kConsumers,
    // Two threads that copy in and out need more registers than one; wide steps leave them none.
    kProducerRegisters = kBulk && kQueries != 80 && !kEarly ? 40 : 24,
    kConsumerRegisters = kBulk && kQueries != 80 && !kEarly ? 232 : 240,

    // A tile consists of parts of 128 bytes of columns, each of all its rows.
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

    // A thread's values of x and dp, and of a warpgroup's share of dqᵀ: 64 columns of d of all queries if d has two
    // parts, else all of d of half of the queries.
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
    u64 full_dq[kAdders], empty_dq;
    u32 pieces[kKeyStages];  // whose keys a stage has
  };
  enum : u32 { kNone = 0xffffffff };  // a piece
};

// The call, as all threads know it. Tokens are at most 2^28, a query's limits at most 2^29 from its diagonal.
struct BackwardProblem {
  i32 batches, heads, key_heads, queries, keys;
  i32 first, last;   // distances of seen keys from the query's diagonal
  i32 query_blocks;  // of a head
  u32 together;      // key heads whose work is side by side
  u32 pieces;        // blocks of keys; two for each pair, one of which may have no keys
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
  const u32 key_blocks = static_cast<u32>(ceil_div(problem.keys, i32{BackwardTiles<Config>::kKeys}));
  problem.pieces = static_cast<u32>(b * hkv) * (BackwardTiles<Config>::kPairs ? (key_blocks + 1) / 2 * 2 : key_blocks);
  if (Config::window == "yes" && left >= 0 && left < kFarthest) problem.first = -left;
  if (Config::window == "yes" && right >= 0 && right < kFarthest) problem.last = right;
  if (Config::causal == "yes") problem.last = 0;
  problem.query_blocks = ceil_div(problem.queries, i32{Config::block_m});
  return problem;
}

// A block's work: 128 keys, and the blocks of queries that see any of them, in each head of the group.
struct BackwardWork {
  i32 batch, key_head, first_key;
  i32 first_block, blocks, group;
  i32 start;      // the place of the first block of queries among them
  bool descends;  // from the last block of queries on

  __device__ __forceinline__ i32 steps() const { return blocks * group; }
  __device__ __forceinline__ i32 head(i32 step) const { return key_head * group + step / blocks; }
  template <class G>
  __device__ __forceinline__ i32 block(i32 step) const {
    i32 place = step % blocks;
    if constexpr (G::kShifts) {
      place += start;
      if (place >= blocks) place -= blocks;
    }
    if constexpr (G::kPairs) {
      if (descends) place = blocks - 1 - place;
    }
    return first_block + place;
  }
};

// This block's first piece of work, and the piece after `index`: the other one of its pair comes first.
template <class G>
__device__ __forceinline__ u32 first_piece() {
  return G::kPairs ? 2 * blockIdx.x : blockIdx.x;
}
template <class G>
__device__ __forceinline__ u32 next_piece(u32 index) {
  if (!G::kPairs) return index + gridDim.x;
  return index % 2 == 0 ? index + 1 : index - 1 + 2 * gridDim.x;
}

// Work by number: `together` heads at a time, the first keys of all of them first. Under a causal mask most queries see
// these, so short work comes last. Pairs go head by head, the middle one first.
template <class Config>
__device__ __forceinline__ BackwardWork make_backward_work(const BackwardProblem& problem, u32 index) {
  using G = BackwardTiles<Config>;
  const u32 key_blocks = static_cast<u32>(ceil_div(problem.keys, i32{G::kKeys}));
  const u32 heads = static_cast<u32>(problem.batches) * static_cast<u32>(problem.key_heads);
  BackwardWork work{};
  u32 head;
  if constexpr (G::kPairs) {
    const u32 pairs = (key_blocks + 1) / 2;
    head = index / 2 / pairs;
    const u32 pair = pairs - 1 - index / 2 % pairs;
    work.descends = index % 2 == 1;
    work.first_key = static_cast<i32>(work.descends ? key_blocks - 1 - pair : pair) * G::kKeys;
    // The middle block has no other.
    if (work.descends && key_blocks - 1 - pair == pair) work.first_key = problem.keys;
  } else {
    const u32 first_head = index / (problem.together * key_blocks) * problem.together,
              inside = index - first_head * key_blocks;
    const u32 width = heads - first_head < problem.together ? heads - first_head : problem.together;
    head = first_head + inside % width;
    work.first_key = static_cast<i32>(inside / width) * G::kKeys;
  }
  work.key_head = static_cast<i32>(head % static_cast<u32>(problem.key_heads));
  work.batch = static_cast<i32>(head / static_cast<u32>(problem.key_heads));
  work.group = problem.heads / problem.key_heads;
  const i32 own = work.first_key - (problem.keys - problem.queries);  // the query with the first key on its diagonal
  const i32 first = own > problem.last ? own - problem.last : 0;
  i32 end = own + G::kKeys - problem.first;
  if (end > problem.queries) end = problem.queries;
  work.first_block = first / G::kQueries;
  work.blocks = end > first ? ceil_div(end, i32{G::kQueries}) - work.first_block : 0;
  if constexpr (G::kShifts) {
    const u32 last = key_blocks - 1 - static_cast<u32>(work.first_key / G::kKeys);
    work.start = static_cast<i32>(i64{last} * problem.query_blocks / key_blocks);
  }
  return work;
}

// The tile of dq that a step adds to, by batch, head and block.
template <class G>
__device__ __forceinline__ i64 tile_of(const BackwardProblem& problem, const BackwardWork& work, i32 step) {
  return (i64{work.batch} * problem.heads + work.head(step)) * problem.query_blocks + work.template block<G>(step);
}

// The order in which blocks add to a tile, for the same bits at each launch. A tile has two sums. In each the order is
// that in which blocks would come without waiting, if all of a head began at once. A block waits only for blocks that
// began before it.
//
//   no mask   blocks of a head begin at different queries and go round. One sum is of blocks that reach the tile before
//             they have gone round, the other of those after; lower keys first
//   causal    a block has keys `pair` from the front, seen by many queries, then those as far from the end, from the
//             last query on. One sum is of the front keys, higher ones first, the other of the rest, lower ones first
struct Adders {
  i32 first, second;  // blocks that add to each sum
};
template <class Config>
__device__ __forceinline__ Adders adders_of(i32 queries, i32 keys, i32 block) {
  using G = BackwardTiles<Config>;
  const i32 key_blocks = ceil_div(keys, i32{G::kKeys});
  if constexpr (G::kShifts) {
    const i32 query_blocks = ceil_div(queries, i32{G::kQueries});
    const i32 from = key_blocks - 1 - static_cast<i32>(((i64{block} + 1) * key_blocks - 1) / query_blocks);
    return {key_blocks - from, from};
  } else {
    const i32 end = (block + 1) * G::kQueries < queries ? (block + 1) * G::kQueries : queries;
    const i32 last_key = end - 1 + keys - queries;  // that any query of the block sees
    const i32 seen = last_key < 0 ? 0 : last_key / G::kKeys + 1, pairs = (key_blocks + 1) / 2;
    return {seen < pairs ? seen : pairs, seen < pairs ? 0 : seen - pairs};
  }
}
struct Turn {
  i32 before;      // blocks that add to the sum before this one
  bool is_second;  // of the tile's sums
};
template <class Config>
__device__ __forceinline__ Turn turn_of(const BackwardProblem& problem, const BackwardWork& work, i32 block) {
  using G = BackwardTiles<Config>;
  const i32 own = work.first_key / G::kKeys;
  const Adders adders = adders_of<Config>(problem.queries, problem.keys, block);
  if constexpr (G::kShifts) {
    const bool is_second = block < work.start;
    return {is_second ? own : own - adders.second, is_second};
  } else {
    return {work.descends ? own - (ceil_div(problem.keys, i32{G::kKeys}) + 1) / 2 : adders.first - 1 - own,
            work.descends};
  }
}

// The number of blocks of keys before this one that add to a block of queries.
template <class Config>
__device__ __forceinline__ u32 adders_before(const BackwardProblem& problem, const BackwardWork& work, i32 block) {
  using G = BackwardTiles<Config>;
  const i32 own = work.first_key / G::kKeys;
  const i32 first_seen = block * G::kQueries + problem.keys - problem.queries + problem.first;
  const i32 first = first_seen > 0 ? first_seen / G::kKeys : 0;
  return static_cast<u32>(own - first);
}

}  // namespace tilewright::attention
