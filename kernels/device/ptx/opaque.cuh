// SPDX-License-Identifier: Apache-2.0
#pragma once

// A value of which the compiler knows nothing from here on. No instruction.

namespace tilewright::ptx {

__device__ __forceinline__ int opaque(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

}  // namespace tilewright::ptx
