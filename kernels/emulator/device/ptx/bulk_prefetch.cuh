// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/bulk_prefetch.cuh: does nothing, since there is no L2.

#include "device/config.cuh"

namespace tilewright::ptx {

inline void bulk_prefetch(const void*, u32) {}

}  // namespace tilewright::ptx
