// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stores to global memory with cache hints, one instruction each, for each word of device/bits.cuh.
// ptx/cache_policy.cuh gives `policy`.

#include "device/bits.cuh"

namespace tilewright::ptx {

// st.global.cs, for data that is unlikely to be read again soon.
__device__ __forceinline__ void store_streaming(u8* address, u8 value) {
  asm volatile("st.global.cs.u8 [%0], %1;" ::"l"(address), "r"(static_cast<u32>(value)) : "memory");
}
__device__ __forceinline__ void store_streaming(u16* address, u16 value) {
  asm volatile("st.global.cs.u16 [%0], %1;" ::"l"(address), "h"(value) : "memory");
}
__device__ __forceinline__ void store_streaming(u32* address, u32 value) {
  asm volatile("st.global.cs.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}
__device__ __forceinline__ void store_streaming(Bits64* address, Bits64 value) {
  asm volatile("st.global.cs.v2.u32 [%0], {%1, %2};" ::"l"(address), "r"(value.x), "r"(value.y) : "memory");
}
__device__ __forceinline__ void store_streaming(Bits128* address, Bits128 value) {
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
}

__device__ __forceinline__ void store_with_policy(u8* address, u8 value, u64 policy) {
  asm volatile("st.global.L2::cache_hint.u8 [%0], %1, %2;" ::"l"(address), "r"(static_cast<u32>(value)), "l"(policy)
               : "memory");
}
__device__ __forceinline__ void store_with_policy(u16* address, u16 value, u64 policy) {
  asm volatile("st.global.L2::cache_hint.u16 [%0], %1, %2;" ::"l"(address), "h"(value), "l"(policy) : "memory");
}
__device__ __forceinline__ void store_with_policy(u32* address, u32 value, u64 policy) {
  asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(address), "r"(value), "l"(policy) : "memory");
}
__device__ __forceinline__ void store_with_policy(Bits64* address, Bits64 value, u64 policy) {
  asm volatile("st.global.L2::cache_hint.v2.u32 [%0], {%1, %2}, %3;" ::"l"(address), "r"(value.x), "r"(value.y),
               "l"(policy)
               : "memory");
}
__device__ __forceinline__ void store_with_policy(Bits128* address, Bits128 value, u64 policy) {
  asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(address), "r"(value.x), "r"(value.y),
               "r"(value.z), "r"(value.w), "l"(policy)
               : "memory");
}

// Without a hint, to any memory: the compiler chooses the instruction.
template <class Word>
__device__ __forceinline__ void store(Word* address, Word value) {
  *address = value;
}

}  // namespace tilewright::ptx
