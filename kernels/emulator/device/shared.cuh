// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/shared.cuh: dynamic shared memory is the running block's buffer, filled with poison (all bits set,
// which reads as NaN) when the block starts.

#include "emulator/abi.h"

namespace tilewright {

template <class T>
inline T* shared_storage() {
  static_assert(alignof(T) <= 1024, "dynamic shared memory is aligned to 1024 bytes");
  return reinterpret_cast<T*>(emulator::this_thread().block->shared);
}

}  // namespace tilewright
