// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/global_reduce.cuh. A bulk sum lands as a bulk store does. Its destination is not poison before:
// other blocks may add to it. The emulator does not model blocks that wait for each other.

#include "device/config.cuh"
#include "emulator/builtins/keywords.h"
#include "emulator/device/ptx/access.h"
#include "emulator/device/ptx/unmodelled.h"

#define TILEWRIGHT_NO_WAITING(...)                  \
  static_assert(emulator::kIsModelled<__VA_ARGS__>, \
                "the emulator does not model blocks that wait for each other: this kernel needs a GPU")

namespace tilewright::ptx {

inline void reduce_add(float* to, float a, float b, float c, float d, TILEWRIGHT_SITE) {
  emulator::check_alignment(to, 16, "16-byte sum", site);
  atomicAdd(to, a);
  atomicAdd(to + 1, b);
  atomicAdd(to + 2, c);
  atomicAdd(to + 3, d);
}
inline void bulk_reduce_add(float* to, const float* shared, u32 bytes, TILEWRIGHT_SITE) {
  emulator::runtime->bulk_add(to, shared, bytes, site);
}
template <class... None>
inline void fence_global_to_async() {
  TILEWRIGHT_NO_WAITING(None...);
}
template <class... None>
inline void add_release(u32*, u32) {
  TILEWRIGHT_NO_WAITING(None...);
}
template <class... None>
inline u32 load_acquire(const u32*) {
  TILEWRIGHT_NO_WAITING(None...);
  return 0;
}

}  // namespace tilewright::ptx

#undef TILEWRIGHT_NO_WAITING
