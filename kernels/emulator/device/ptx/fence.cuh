// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes the place of device/ptx/fence.cuh: one fiber runs at a time, so the compiler alone is told. A fence that is
// missing in a kernel is not noticed here.

namespace tilewright::ptx {

inline void fence_shared_to_async() { asm volatile("" ::: "memory"); }
inline void fence_mbarrier_init() { asm volatile("" ::: "memory"); }

}  // namespace tilewright::ptx
