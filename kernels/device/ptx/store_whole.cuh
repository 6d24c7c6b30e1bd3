// SPDX-License-Identifier: Apache-2.0
#pragma once

// A store of 16 bytes that stays one instruction. Behind some branches the compiler takes a plain one apart into four, of
// which each writes a quarter of every sector.

#include "device/bits.cuh"

namespace tilewright::ptx {

__device__ __forceinline__ void store_whole(Bits128* address, Bits128 value) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
}

}  // namespace tilewright::ptx
