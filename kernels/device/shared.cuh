// SPDX-License-Identifier: Apache-2.0
#pragma once

// Dynamic shared memory: as many bytes as the implementation's `shared_bytes` formula gives, aligned to
// 1024 bytes (what the widest swizzle needs). A kernel calls this once and lays its tiles out in a struct.

namespace tilewright {

template <class T>
__device__ __forceinline__ T* shared_storage() {
  static_assert(alignof(T) <= 1024, "dynamic shared memory is aligned to 1024 bytes");
  extern __shared__ __align__(1024) unsigned char tilewright_dynamic_shared[];
  return reinterpret_cast<T*>(tilewright_dynamic_shared);
}

}  // namespace tilewright
