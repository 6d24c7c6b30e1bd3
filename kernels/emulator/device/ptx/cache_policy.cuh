// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes the place of device/ptx/cache_policy.cuh: there is no L2 to advise.

#include "device/config.cuh"

namespace tilewright::ptx {

inline u64 policy_evict_first() { return 0; }
inline u64 policy_evict_last() { return 0; }

}  // namespace tilewright::ptx
