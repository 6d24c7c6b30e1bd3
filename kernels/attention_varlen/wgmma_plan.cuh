// SPDX-License-Identifier: Apache-2.0
#pragma once

// The order of sequences. Lengths are on the device, so one block orders the sequences, the longest in keys first, and
// counts the pieces before each. A piece is found by its number: its sequence by a search that begins at the last
// one's, its place in the sequence by attention/work.cuh.
//
//   sequences, longest first    │ 5               │ 0         │ 3     │ 1 │
//   pieces before               0                 24          36      40  42

#include "attention/work.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/shared.cuh"

namespace tilewright::attention {

// A planned sequence. One more follows the last; its first_piece is the number of pieces.
struct alignas(16) Planned {
  u32 first_piece;
  i32 first_query, queries, first_key, keys;
  i32 sections;  // of its heads
  i32 unused[2];
};

// The call, as all threads know it; each sequence is a problem of its own.
struct PackedCall {
  i32 batches, heads, key_heads, left, right;

  __device__ __forceinline__ Problem problem_of(const Planned& sequence) const {
    return make_problem(1, heads, key_heads, sequence.queries, sequence.keys, left, right, sequence.sections);
  }
};

// The sequence with piece `index`, which exists; `rank` is that of an earlier piece, or 0. A warp calls.
__device__ __forceinline__ Planned find_sequence(const Planned* plan, i32 batches, u32 index, i32& rank, int lane) {
  while (true) {
    const i32 next = rank + 1 + lane;
    const u32 behind = __ballot_sync(kFullMask, next > batches || plan[next].first_piece > index);
    if (behind != 0) {
      rank += __ffs(static_cast<int>(behind)) - 1;
      return plan[rank];
    }
    rank += kWarpSize;
  }
}

inline constexpr int kPlanThreads = 1024;
inline constexpr int kPlanWarps = kPlanThreads / kWarpSize;

struct PlanStorage {
  u32 begins[kPlanThreads];  // of classes of lengths, the longest first
  u32 totals[kPlanWarps];
  i32 longest;
};

// The sum over the threads before this one; `all` becomes the sum over all threads.
__device__ __forceinline__ u32 sum_before(PlanStorage& storage, u32 own, u32& all, int thread) {
  u32 upto = own;
#pragma unroll
  for (int step = 1; step < kWarpSize; step *= 2) {
    const u32 other = __shfl_up_sync(kFullMask, upto, step);
    if (thread % kWarpSize >= step) upto += other;
  }
  __syncthreads();
  if (thread % kWarpSize == kWarpSize - 1) storage.totals[thread / kWarpSize] = upto;
  __syncthreads();
  all = 0;
  for (int warp = 0; warp < kPlanWarps; ++warp) {
    if (warp == thread / kWarpSize) upto += all;
    all += storage.totals[warp];
  }
  return upto - own;
}

// `two_waves` pieces keep all SMs busy; keys and values of `keys_in_l2` tokens of a head fit a part of L2.
template <class Config>
__device__ __forceinline__ void plan_sequences(const i32* cu_q, const i32* cu_k, Planned* plan, i32 batches, i32 heads,
                                               i32 key_heads, i32 keys_in_l2, i32 two_waves) {
  auto& storage = *shared_storage<PlanStorage>();
  const int thread = static_cast<int>(threadIdx.x);
  const auto length = [](const i32* cu, i32 batch) {
    const i32 tokens = cu[batch + 1] - cu[batch];
    return tokens > 0 ? tokens : 0;
  };
  const auto row_blocks = [](i32 queries) { return ceil_div(queries, i32{Config::block_m}); };

  storage.begins[thread] = 0;
  if (thread == 0) storage.longest = 0;
  __syncthreads();
  i32 longest = 0;
  for (i32 batch = thread; batch < batches; batch += kPlanThreads) {
    const i32 keys = length(cu_k, batch);
    longest = longest > keys ? longest : keys;
  }
  atomicMax(&storage.longest, longest);
  __syncthreads();
  const i32 step = storage.longest / kPlanThreads + 1;
  const auto class_of = [&](i32 keys) { return kPlanThreads - 1 - keys / step; };
  for (i32 batch = thread; batch < batches; batch += kPlanThreads) {
    atomicAdd(&storage.begins[class_of(length(cu_k, batch))], 1u);
  }
  __syncthreads();
  u32 all;
  const u32 begin = sum_before(storage, storage.begins[thread], all, thread);
  storage.begins[thread] = begin;
  __syncthreads();
  for (i32 batch = thread; batch < batches; batch += kPlanThreads) {
    const i32 queries = length(cu_q, batch), keys = length(cu_k, batch);
    // As in attention.toml: without a mask a section is one head.
    i32 sections = heads;
    if (Config::causal == "yes" && queries > 0) {
      const i32 in_l2 = keys_in_l2 > keys ? keys_in_l2 / (keys + 1) * (heads / key_heads) : heads / key_heads;
      const i32 busy = ceil_div(two_waves, row_blocks(queries));
      const i32 together = in_l2 > busy ? in_l2 : busy;
      sections = heads > together ? heads / together : 1;
    }
    const u32 place = atomicAdd(&storage.begins[class_of(keys)], 1u);
    plan[place] = {0, cu_q[batch], queries, cu_k[batch], keys, sections, {}};
  }
  __syncthreads();
  u32 before = 0;
  for (i32 first = 0; first < batches; first += kPlanThreads) {
    const i32 rank = first + thread;
    const bool exists = rank < batches;
    const u32 own = exists ? static_cast<u32>(heads * row_blocks(plan[rank].queries)) : 0;
    const u32 earlier = before + sum_before(storage, own, all, thread);
    if (exists) plan[rank].first_piece = earlier;
    before += all;
  }
  if (thread == 0) plan[batches].first_piece = before;
}

}  // namespace tilewright::attention
