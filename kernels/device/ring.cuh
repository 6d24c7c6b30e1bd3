// SPDX-License-Identifier: Apache-2.0
#pragma once

// A position in a ring of `kStages` stages between producers and consumers; each side has its own. `stage` is the stage
// of the current turn, `parity` that of the mbarrier phase (ptx/mbarrier.cuh) whose end means full. The stage is empty
// once the phase of the other parity has ended, as it has on fresh mbarriers.

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

  // Advances by `turns` stages.
  __device__ __forceinline__ void advance(u32 turns) {
    const u32 sum = stage + turns;
    stage = sum % kStages;
    parity ^= sum / kStages & 1;
  }
};

}  // namespace tilewright
