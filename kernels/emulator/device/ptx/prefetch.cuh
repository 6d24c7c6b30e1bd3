// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes the place of device/ptx/prefetch.cuh: there is no L2 to fetch into.

namespace tilewright::ptx {

inline void prefetch_l2(const void*) {}

}  // namespace tilewright::ptx
