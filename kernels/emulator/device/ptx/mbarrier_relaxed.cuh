// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes the place of device/ptx/mbarrier_relaxed.cuh: an arrival like any other. That something should have been
// ordered is not noticed here.

#include "device/config.cuh"
#include "emulator/builtins/keywords.h"

namespace tilewright::ptx {

inline void mbarrier_arrive_cluster_relaxed(u64* barrier, TILEWRIGHT_SITE) {
  emulator::runtime->mbarrier_arrive(barrier, 1, site);
}

}  // namespace tilewright::ptx
