// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loads from global memory with cache hints, one instruction each, for each word of device/bits.cuh. The compiler may
// move `read_only` and `constant` loads: that memory must not be written while the kernel runs. The others stay in
// order with stores and serve kernels that work in place. ptx/cache_policy.cuh gives `policy`.

#include "device/bits.cuh"

namespace tilewright::ptx {

__device__ __forceinline__ u8 load_read_only(const u8* address) {
  u32 value;
  asm("ld.global.nc.L1::no_allocate.u8 %0, [%1];" : "=r"(value) : "l"(address));
  return static_cast<u8>(value);
}
__device__ __forceinline__ u16 load_read_only(const u16* address) {
  u16 value;
  asm("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(value) : "l"(address));
  return value;
}
__device__ __forceinline__ u32 load_read_only(const u32* address) {
  u32 value;
  asm("ld.global.nc.L1::no_allocate.L2::256B.u32 %0, [%1];" : "=r"(value) : "l"(address));
  return value;
}
__device__ __forceinline__ Bits64 load_read_only(const Bits64* address) {
  Bits64 value;
  asm("ld.global.nc.L1::no_allocate.L2::256B.v2.u32 {%0, %1}, [%2];" : "=r"(value.x), "=r"(value.y) : "l"(address));
  return value;
}
__device__ __forceinline__ Bits128 load_read_only(const Bits128* address) {
  Bits128 value;
  asm("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(address));
  return value;
}

__device__ __forceinline__ u8 load_constant(const u8* address) {
  u32 value;
  asm("ld.global.nc.u8 %0, [%1];" : "=r"(value) : "l"(address));
  return static_cast<u8>(value);
}
__device__ __forceinline__ u16 load_constant(const u16* address) {
  u16 value;
  asm("ld.global.nc.u16 %0, [%1];" : "=h"(value) : "l"(address));
  return value;
}
__device__ __forceinline__ u32 load_constant(const u32* address) {
  u32 value;
  asm("ld.global.nc.u32 %0, [%1];" : "=r"(value) : "l"(address));
  return value;
}
__device__ __forceinline__ Bits64 load_constant(const Bits64* address) {
  Bits64 value;
  asm("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(value.x), "=r"(value.y) : "l"(address));
  return value;
}
__device__ __forceinline__ Bits128 load_constant(const Bits128* address) {
  Bits128 value;
  asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(address));
  return value;
}

__device__ __forceinline__ u8 load_streaming(const u8* address) {
  u32 value;
  asm volatile("ld.global.L1::no_allocate.u8 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return static_cast<u8>(value);
}
__device__ __forceinline__ u16 load_streaming(const u16* address) {
  u16 value;
  asm volatile("ld.global.L1::no_allocate.u16 %0, [%1];" : "=h"(value) : "l"(address) : "memory");
  return value;
}
__device__ __forceinline__ u32 load_streaming(const u32* address) {
  u32 value;
  asm volatile("ld.global.L1::no_allocate.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}
__device__ __forceinline__ Bits64 load_streaming(const Bits64* address) {
  Bits64 value;
  asm volatile("ld.global.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
               : "=r"(value.x), "=r"(value.y)
               : "l"(address)
               : "memory");
  return value;
}
__device__ __forceinline__ Bits128 load_streaming(const Bits128* address) {
  Bits128 value;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(address)
               : "memory");
  return value;
}

__device__ __forceinline__ u8 load_with_policy(const u8* address, u64 policy) {
  u32 value;
  asm volatile("ld.global.L2::cache_hint.u8 %0, [%1], %2;" : "=r"(value) : "l"(address), "l"(policy) : "memory");
  return static_cast<u8>(value);
}
__device__ __forceinline__ u16 load_with_policy(const u16* address, u64 policy) {
  u16 value;
  asm volatile("ld.global.L2::cache_hint.u16 %0, [%1], %2;" : "=h"(value) : "l"(address), "l"(policy) : "memory");
  return value;
}
__device__ __forceinline__ u32 load_with_policy(const u32* address, u64 policy) {
  u32 value;
  asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(value) : "l"(address), "l"(policy) : "memory");
  return value;
}
__device__ __forceinline__ Bits64 load_with_policy(const Bits64* address, u64 policy) {
  Bits64 value;
  asm volatile("ld.global.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
               : "=r"(value.x), "=r"(value.y)
               : "l"(address), "l"(policy)
               : "memory");
  return value;
}
__device__ __forceinline__ Bits128 load_with_policy(const Bits128* address, u64 policy) {
  Bits128 value;
  asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(address), "l"(policy)
               : "memory");
  return value;
}

// Without a hint, from any memory: the compiler chooses the instruction.
template <class Word>
__device__ __forceinline__ Word load(const Word* address) {
  return *address;
}

}  // namespace tilewright::ptx
