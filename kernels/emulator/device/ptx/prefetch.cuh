// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/prefetch.cuh: does nothing, since there is no L2.

namespace tilewright::ptx {

inline void prefetch_l2(const void*) {}

}  // namespace tilewright::ptx
