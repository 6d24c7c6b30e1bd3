// SPDX-License-Identifier: Apache-2.0
#pragma once

// Dynamic shared memory: the bytes of the implementation's `shared_bytes` formula, aligned to 1024 bytes as the widest
// swizzle needs. A kernel calls this once and lays out its tiles in a struct.

namespace tilewright {

template <class T>
__device__ __forceinline__ T* shared_storage() {
  static_assert(alignof(T) <= 1024, "dynamic shared memory is aligned to 1024 bytes");
  extern __shared__ __align__(1024) unsigned char tilewright_dynamic_shared[];
  return reinterpret_cast<T*>(tilewright_dynamic_shared);
}

}  // namespace tilewright
