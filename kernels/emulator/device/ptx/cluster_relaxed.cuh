// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/cluster_relaxed.cuh: arrives as any other arrival. The emulator does not detect missing order.

#include "device/config.cuh"
#include "emulator/builtins/keywords.h"

namespace tilewright::ptx {

inline void cluster_arrive_relaxed(TILEWRIGHT_SITE) { emulator::runtime->cluster_arrive(site); }

}  // namespace tilewright::ptx
