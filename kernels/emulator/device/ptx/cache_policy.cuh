// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/cache_policy.cuh: policies have no meaning without an L2.

#include "device/config.cuh"

namespace tilewright::ptx {

inline u64 policy_evict_first() { return 0; }
inline u64 policy_evict_last() { return 0; }

}  // namespace tilewright::ptx
