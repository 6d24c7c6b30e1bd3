// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/fence.cuh: one fiber runs at a time, so a compiler barrier suffices. The emulator does not detect
// a kernel's missing fences.

namespace tilewright::ptx {

inline void fence_shared_to_async() { asm volatile("" ::: "memory"); }
inline void fence_mbarrier_init() { asm volatile("" ::: "memory"); }

}  // namespace tilewright::ptx
