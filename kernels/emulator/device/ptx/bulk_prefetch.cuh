// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes the place of device/ptx/bulk_prefetch.cuh: there is no L2 to fetch into.

#include "device/config.cuh"

namespace tilewright::ptx {

inline void bulk_prefetch(const void*, u32) {}

}  // namespace tilewright::ptx
