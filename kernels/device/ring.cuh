// SPDX-License-Identifier: Apache-2.0
#pragma once

// A place in the ring of `kStages` buffers between the threads that fill them and those that use them. Each side has a
// place of its own: `stage` is the buffer of its turn, `parity` that of the mbarrier phase (ptx/mbarrier.cuh) in which
// the buffer is full. The buffer is empty for that turn in the phase of the other parity, which has ended on fresh
// mbarriers.

#include "device/config.cuh"

namespace tilewright {

template <int kStages>
struct Ring {
  u32 stage = 0;
  u32 parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }

  // Moves on by so many turns.
  __device__ __forceinline__ void advance(u32 turns) {
    const u32 sum = stage + turns;
    stage = sum % kStages;
    parity ^= sum / kStages & 1;
  }
};

}  // namespace tilewright
