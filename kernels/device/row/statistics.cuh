// SPDX-License-Identifier: Apache-2.0
#pragma once

// Statistics of a row, gathered by many threads: classes with a Partial, the statistics of some of the elements, and
//
//   nothing()                           of no elements
//   of_registers<kLanes>(v, valid, n)   of the values v[] of kLanes neighbouring lanes, n of them valid in all; the
//                                       same in all lanes; may change v
//   add(partial, v, valid)              adds more values of one thread; may change v
//   over_lanes<kLanes>(partial)         merges the partials of kLanes neighbouring lanes; the same in all of them
//
// valid(k) says whether v[k] is an element of the row; other values are the op's pad(). This file has Valid and the
// merge of a block's warps; exchange.cuh merges the blocks of a cluster.

#include "device/config.cuh"

namespace tilewright::row {

// Tells which values are elements. The first kGrouped come from vectors: kGroup at a time are valid, or are not.
template <int kGroup, int kGrouped, class Test>
class Valid {
 public:
  enum : int { kGroupSize = kGroup, kGroupedCount = kGrouped };
  __device__ __forceinline__ explicit Valid(Test test) : test_(test) {}
  __device__ __forceinline__ bool operator()(int k) const { return test_(k); }

 private:
  Test test_;
};

template <int kGroup, int kGrouped, class Test>
__device__ __forceinline__ Valid<kGroup, kGrouped, Test> valid_if(Test test) {
  return Valid<kGroup, kGrouped, Test>(test);
}

// Merges kCount partials in shared memory, a power of two, one per lane.
template <class Statistics, int kCount>
__device__ __forceinline__ typename Statistics::Partial over_slots(const typename Statistics::Partial* slots) {
  return Statistics::template over_lanes<kCount>(slots[threadIdx.x % kCount]);
}

// Merges the partials of the kWarps warps that share a row; `slots` has an entry for each. All threads of the block
// must call.
template <class Statistics, int kWarps>
__device__ __forceinline__ typename Statistics::Partial merge_warps(typename Statistics::Partial mine,
                                                                    typename Statistics::Partial* slots, int warp) {
  if constexpr (kWarps == 1) {
    return mine;
  } else {
    if (threadIdx.x % kWarpSize == 0) slots[warp] = mine;
    __syncthreads();
    return over_slots<Statistics, kWarps>(slots);
  }
}

}  // namespace tilewright::row
