// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/global_reduce.cuh: the emulator does not model blocks that wait for each other.

#include "device/config.cuh"
#include "emulator/device/ptx/unmodelled.h"

#define TILEWRIGHT_NO_WAITING(...)                  \
  static_assert(emulator::kIsModelled<__VA_ARGS__>, \
                "the emulator does not model blocks that wait for each other: this kernel needs a GPU")

namespace tilewright::ptx {

template <class... None>
inline void reduce_add(float*, float, float, float, float) {
  TILEWRIGHT_NO_WAITING(None...);
}
template <class... None>
inline void bulk_reduce_add(float*, const float*, u32) {
  TILEWRIGHT_NO_WAITING(None...);
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
