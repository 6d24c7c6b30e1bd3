// SPDX-License-Identifier: Apache-2.0
#pragma once

// The work of decoding, shared out by lengths that are on the device. A pack is block_m rows of one key head of one
// sequence: query r / group of head r % group, group = hq / hkv. Its keys come in units of kUnit. The units of all
// packs form one line, and each block takes an equal piece of it, so that one long sequence among short ones keeps all
// blocks busy. After each pack kToll places stay empty, for the time that its end takes.
//
//   packs    │ 0       │ 1   │ 2               │ 3  │        a pack within a block is finished by it;
//   units    ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪        of the others each block writes a part,
//   blocks   │ 0         │ 1         │ 2         │          and the last to do so combines them
//
// There are kSide such lines: packs side, side + kSide, … of each sequence are in line `side`, and neighbouring blocks
// have the same place in neighbouring lines. So they read the same keys of neighbouring heads.

#include "device/config.cuh"

namespace tilewright::attention {

// The call, as all threads know it. Tokens are at most 2^28, units 2^30.
struct DecodeCall {
  const i32* lengths;
  i32 batches, heads, key_heads, queries, capacity;
  i32 left;  // of the window; -1 is unlimited
  i32 group;

  __device__ __forceinline__ i32 rows() const { return queries * group; }
};

__device__ __forceinline__ DecodeCall make_decode_call(const i32* lengths, i64 batches, i64 heads, i64 key_heads,
                                                       i64 queries, i64 capacity, i32 left) {
  constexpr i32 kFarthest = 1 << 29;
  return {lengths,
          static_cast<i32>(batches),
          static_cast<i32>(heads),
          static_cast<i32>(key_heads),
          static_cast<i32>(queries),
          static_cast<i32>(capacity),
          left < kFarthest ? left : kFarthest,
          static_cast<i32>(heads / key_heads)};
}

// The keys of a sequence that any of its queries sees: whole steps of a warp from `first` on, up to `length`. Each of
// its packs has `places` in the line: its units and the toll.
struct Sequence {
  i32 length, first, units, places;
};

template <class G>
__device__ __forceinline__ Sequence sequence_of(const DecodeCall& call, i32 batch) {
  i32 length = call.lengths[batch];
  length = length < 0 ? 0 : length > call.capacity ? call.capacity : length;
  i32 first = 0;
  if (G::kWindow && call.left >= 0) {
    first = length - call.queries - call.left;
    first = first > 0 ? first / G::kKeys * G::kKeys : 0;
  }
  const i32 units = (length - first + G::kUnit - 1) / G::kUnit;
  return {length, first, units, units > 0 ? units + G::kToll : 0};
}

template <class G>
__device__ __forceinline__ i32 packs_of_sequence(const DecodeCall& call) {
  return call.key_heads * ceil_div(call.rows(), i32{G::kRows});
}

// The first place of block `block` of `blocks`.
__device__ __forceinline__ i32 share_begin(i32 block, i32 blocks, i32 places) {
  return static_cast<i32>(i64{block} * places / blocks);
}
// The block that has a place.
__device__ __forceinline__ i32 share_of(i32 place, i32 blocks, i32 places) {
  return static_cast<i32>(((i64{place} + 1) * blocks - 1) / places);
}

// A unit in the line. It may be advanced while units are left.
struct Place {
  i32 batch, pack, unit;  // of the sequence, of the pack
  i32 side;               // its line: packs side, side + kSide, …
  Sequence sequence;

  // Returns the distance to the next unit, in places.
  template <class G>
  __device__ __forceinline__ i32 advance(const DecodeCall& call, i32 packs) {
    if (++unit < sequence.units) return 1;
    const i32 passed = 1 + sequence.places - unit;
    unit = 0;
    if ((pack += G::kSide) < packs) return passed;
    pack = side;
    do {
      sequence = ++batch < call.batches ? sequence_of<G>(call, batch) : Sequence{0, 0, 1, 1};
    } while (sequence.units == 0);
    return passed;
  }
};

// The shared memory of a scan over warps.
template <int kWarps>
struct ScanStorage {
  i32 totals[kWarps];
  i32 batch, before;
};

// Returns the block's first place. `storage` gets the sequence with that place and the places before the sequence,
// `places` the number of all. A block without places ignores the result. All threads of the block call.
template <class G>
__device__ __forceinline__ i32 find_share(const DecodeCall& call, ScanStorage<G::kWarps>& storage, i32 packs, i32 block,
                                          i32 blocks, i32& places) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarpSize, warp = thread / kWarpSize;
  const i32 chunk = ceil_div(call.batches, i32{G::kThreads});
  const i32 first = thread * chunk;
  const i32 end = first + chunk < call.batches ? first + chunk : call.batches;
  i32 own = 0;
  for (i32 batch = first; batch < end; ++batch) own += sequence_of<G>(call, batch).places * packs;
  i32 upto = own;
#pragma unroll
  for (int step = 1; step < kWarpSize; step *= 2) {
    const i32 other = __shfl_up_sync(kFullMask, upto, step);
    if (lane >= step) upto += other;
  }
  if (lane == kWarpSize - 1) storage.totals[warp] = upto;
  __syncthreads();
  places = 0;
#pragma unroll
  for (int i = 0; i < G::kWarps; ++i) {
    if (i < warp) upto += storage.totals[i];
    places += storage.totals[i];
  }
  const i32 wanted = share_begin(block, blocks, places);
  if (wanted < upto && wanted >= upto - own) {
    i32 batch = first, before = upto - own;
    for (;; ++batch) {
      const i32 here = sequence_of<G>(call, batch).places * packs;
      if (wanted < before + here) break;
      before += here;
    }
    storage.batch = batch;
    storage.before = before;
  }
  __syncthreads();
  return wanted;
}

}  // namespace tilewright::attention
