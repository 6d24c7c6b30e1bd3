// SPDX-License-Identifier: Apache-2.0
#pragma once

// Hides a value's origin from the compiler; emits no instruction.

namespace tilewright::ptx {

__device__ __forceinline__ int opaque(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

}  // namespace tilewright::ptx
