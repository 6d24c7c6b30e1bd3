// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/mbarrier_relaxed.cuh: arrives as any other arrival. The emulator does not detect missing order.

#include "device/config.cuh"
#include "emulator/builtins/keywords.h"

namespace tilewright::ptx {

inline void mbarrier_arrive_cluster_relaxed(u64* barrier, TILEWRIGHT_SITE) {
  emulator::runtime->mbarrier_arrive(barrier, 1, site);
}

}  // namespace tilewright::ptx
