// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stores of 8 and 16 bytes that stay one instruction. Behind some branches the compiler splits a plain store into words
// of 4 bytes, each of which writes a part of every sector.

#include "device/bits.cuh"

namespace tilewright::ptx {

__device__ __forceinline__ void store_whole(Bits128* address, Bits128 value) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
}

__device__ __forceinline__ void store_whole(Bits64* address, Bits64 value) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(address), "r"(value.x), "r"(value.y) : "memory");
}

}  // namespace tilewright::ptx
