// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/cp_async.cuh: the destination is poison from the call on. The wait that ends a copy's group reads
// the source and lands the copy.

#include "emulator/device/ptx/access.h"

namespace tilewright::ptx {

template <int kBytes>
inline void cp_async_zero_fill(void* shared, const void* global, u32 source_bytes, TILEWRIGHT_SITE) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async copies 4, 8 or 16 bytes");
  emulator::check_alignment(shared, kBytes, "cp.async to an address that is no multiple of its size", site);
  emulator::check_alignment(global, kBytes, "cp.async from an address that is no multiple of its size", site);
  emulator::runtime->copy_async(shared, global, kBytes, source_bytes < kBytes ? source_bytes : kBytes);
}

template <int kBytes>
inline void cp_async(void* shared, const void* global, TILEWRIGHT_SITE) {
  cp_async_zero_fill<kBytes>(shared, global, kBytes, site);
}

template <int kBytes>
inline void cp_async_cached(void* shared, const void* global, TILEWRIGHT_SITE) {
  cp_async_zero_fill<kBytes>(shared, global, kBytes, site);
}

inline void cp_async_commit() { emulator::runtime->copy_async_commit(); }

template <int kGroupsLeft>
inline void cp_async_wait() {
  emulator::runtime->copy_async_wait(kGroupsLeft);
}

}  // namespace tilewright::ptx
