// SPDX-License-Identifier: Apache-2.0
#pragma once

// wgmma: the four warps of a warpgroup multiply a 64×K tile A by a K×N tile B, both in shared memory, and add the
// product to D in registers, asynchronously. K is 32 bytes of elements: 16 of 16 bits, or 8 of tf32 (fp32 whose upper
// 19 bits the hardware uses; copies by a map with `tf32` round to them). N is a multiple of 32 up to 256. In warp w of
// the four and lane l, with g = l / 4 and t = l % 4:
//
//   D (64×N)   d[4j], d[4j + 1]: row 16w + g, columns 8j + 2t, 8j + 2t + 1     d[4j + 2], d[4j + 3]: row 16w + g + 8
//
//   wgmma_fence();                                 before the first wgmma, and after other writes to registers of D
//   wgmma<T, N, …>(d, a, b, true);                 any number; all warps of the warpgroup must call
//   wgmma_commit();                                makes these a group
//   wgmma_wait<0>();                               waits until at most that many groups are in flight; D is then valid
//
// A matrix descriptor gives a tile's address, its swizzle and the strides between its parts. A part is 8 rows of 128
// bytes, swizzled by 128 bytes, at a multiple of 1024, as tensor_load (ptx/tensor_copy.cuh) writes it:
//
//   K-major     a row of a part is 128 bytes of k of one row of A (one column of B). The next 32 bytes of k start 32
//               bytes further, the next 8 rows `stride` bytes further
//   transposed  a row of a part is 128 bytes of m (or n) for one k; its 8 rows are 8 of k. The next 8 of k start
//               `stride` bytes further, the next 128 bytes of m (or n) `leading` bytes further. 16-bit elements only
//
// sm_90a only. PTX ISA: "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "device/ptx/address.cuh"

namespace tilewright::ptx {

// The descriptor of a tile at `shared`, aligned to 16 bytes, within a swizzled tile aligned to 1024.
__device__ __forceinline__ u64 matrix_descriptor(const void* shared, u32 leading, u32 stride) {
  constexpr u64 kSwizzle128 = 1;
  constexpr u64 kFieldMask = 0x3fff;
  return (u64{shared_address(shared)} >> 4 & kFieldMask) | (u64{leading} >> 4 & kFieldMask) << 16 |
         (u64{stride} >> 4 & kFieldMask) << 32 | kSwizzle128 << 62;
}

// The descriptor of a like tile `bytes` bytes further, a multiple of 16.
__device__ __forceinline__ u64 advance(u64 descriptor, u32 bytes) { return descriptor + (bytes >> 4); }

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int kGroupsLeft>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroupsLeft) : "memory");
}

// Operand numbers and operands of D's registers in an asm statement, 16 a line.
#define TILEWRIGHT_NUMBERS_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define TILEWRIGHT_NUMBERS_16 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TILEWRIGHT_NUMBERS_32 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define TILEWRIGHT_NUMBERS_48 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TILEWRIGHT_NUMBERS_64 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define TILEWRIGHT_NUMBERS_80 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define TILEWRIGHT_NUMBERS_96 \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define TILEWRIGHT_NUMBERS_112 \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define TILEWRIGHT_REGISTERS_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define TILEWRIGHT_REGISTERS_16(i)                                                         \
  TILEWRIGHT_REGISTERS_4(i), TILEWRIGHT_REGISTERS_4(i + 4), TILEWRIGHT_REGISTERS_4(i + 8), \
      TILEWRIGHT_REGISTERS_4(i + 12)
#define TILEWRIGHT_NUMBERS_OF_32 TILEWRIGHT_NUMBERS_0
#define TILEWRIGHT_REGISTERS_OF_32 TILEWRIGHT_REGISTERS_16(0)
#define TILEWRIGHT_NUMBERS_OF_64 TILEWRIGHT_NUMBERS_0 ", " TILEWRIGHT_NUMBERS_16
#define TILEWRIGHT_REGISTERS_OF_64 TILEWRIGHT_REGISTERS_16(0), TILEWRIGHT_REGISTERS_16(16)
#define TILEWRIGHT_NUMBERS_OF_96 TILEWRIGHT_NUMBERS_0 ", " TILEWRIGHT_NUMBERS_16 ", " TILEWRIGHT_NUMBERS_32
#define TILEWRIGHT_REGISTERS_OF_96 TILEWRIGHT_REGISTERS_16(0), TILEWRIGHT_REGISTERS_16(16), TILEWRIGHT_REGISTERS_16(32)
#define TILEWRIGHT_NUMBERS_OF_128 \
  TILEWRIGHT_NUMBERS_0 ", " TILEWRIGHT_NUMBERS_16 ", " TILEWRIGHT_NUMBERS_32 ", " TILEWRIGHT_NUMBERS_48
#define TILEWRIGHT_REGISTERS_OF_128 \
  TILEWRIGHT_REGISTERS_16(0), TILEWRIGHT_REGISTERS_16(16), TILEWRIGHT_REGISTERS_16(32), TILEWRIGHT_REGISTERS_16(48)
#define TILEWRIGHT_NUMBERS_OF_160                                                                       \
  TILEWRIGHT_NUMBERS_0 ", " TILEWRIGHT_NUMBERS_16 ", " TILEWRIGHT_NUMBERS_32 ", " TILEWRIGHT_NUMBERS_48 \
                       ", " TILEWRIGHT_NUMBERS_64
#define TILEWRIGHT_REGISTERS_OF_160                                                                                  \
  TILEWRIGHT_REGISTERS_16(0), TILEWRIGHT_REGISTERS_16(16), TILEWRIGHT_REGISTERS_16(32), TILEWRIGHT_REGISTERS_16(48), \
      TILEWRIGHT_REGISTERS_16(64)
#define TILEWRIGHT_NUMBERS_OF_192                                                                       \
  TILEWRIGHT_NUMBERS_0 ", " TILEWRIGHT_NUMBERS_16 ", " TILEWRIGHT_NUMBERS_32 ", " TILEWRIGHT_NUMBERS_48 \
                       ", " TILEWRIGHT_NUMBERS_64 ", " TILEWRIGHT_NUMBERS_80
#define TILEWRIGHT_REGISTERS_OF_192                                                                                  \
  TILEWRIGHT_REGISTERS_16(0), TILEWRIGHT_REGISTERS_16(16), TILEWRIGHT_REGISTERS_16(32), TILEWRIGHT_REGISTERS_16(48), \
      TILEWRIGHT_REGISTERS_16(64), TILEWRIGHT_REGISTERS_16(80)
#define TILEWRIGHT_NUMBERS_OF_224                                                                       \
  TILEWRIGHT_NUMBERS_0 ", " TILEWRIGHT_NUMBERS_16 ", " TILEWRIGHT_NUMBERS_32 ", " TILEWRIGHT_NUMBERS_48 \
                       ", " TILEWRIGHT_NUMBERS_64 ", " TILEWRIGHT_NUMBERS_80 ", " TILEWRIGHT_NUMBERS_96
#define TILEWRIGHT_REGISTERS_OF_224                                                                                  \
  TILEWRIGHT_REGISTERS_16(0), TILEWRIGHT_REGISTERS_16(16), TILEWRIGHT_REGISTERS_16(32), TILEWRIGHT_REGISTERS_16(48), \
      TILEWRIGHT_REGISTERS_16(64), TILEWRIGHT_REGISTERS_16(80), TILEWRIGHT_REGISTERS_16(96)
#define TILEWRIGHT_NUMBERS_OF_256                                                                       \
  TILEWRIGHT_NUMBERS_0 ", " TILEWRIGHT_NUMBERS_16 ", " TILEWRIGHT_NUMBERS_32 ", " TILEWRIGHT_NUMBERS_48 \
                       ", " TILEWRIGHT_NUMBERS_64 ", " TILEWRIGHT_NUMBERS_80 ", " TILEWRIGHT_NUMBERS_96 \
                       ", " TILEWRIGHT_NUMBERS_112
#define TILEWRIGHT_REGISTERS_OF_256                                                                                  \
  TILEWRIGHT_REGISTERS_16(0), TILEWRIGHT_REGISTERS_16(16), TILEWRIGHT_REGISTERS_16(32), TILEWRIGHT_REGISTERS_16(48), \
      TILEWRIGHT_REGISTERS_16(64), TILEWRIGHT_REGISTERS_16(80), TILEWRIGHT_REGISTERS_16(96),                         \
      TILEWRIGHT_REGISTERS_16(112)

// `first`, `second`, `third` are the numbers of the operands after D: A, B, and whether to accumulate.
#define TILEWRIGHT_WGMMA(n, instruction, options, first, second, third, ...)                                      \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " third ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n instruction \
               " {" TILEWRIGHT_NUMBERS_OF_##n "}, " first ", " second ", p, 1, 1" options ";\n}"                  \
               : TILEWRIGHT_REGISTERS_OF_##n                                                                      \
               : "l"(a), "l"(b), "r"(static_cast<u32>(accumulate))__VA_ARGS__)
#define TILEWRIGHT_COMMA ,
#define TILEWRIGHT_TRANSPOSED TILEWRIGHT_COMMA "n"(kTransposedA ? 1 : 0), "n"(kTransposedB ? 1 : 0)
#define TILEWRIGHT_WGMMA_OF(n, first, second, third, fourth, fifth)                                                \
  if constexpr (is_same<T, __nv_bfloat16>) {                                                                       \
    TILEWRIGHT_WGMMA(n, "k16.f32.bf16.bf16", ", " fourth ", " fifth, first, second, third, TILEWRIGHT_TRANSPOSED); \
  } else if constexpr (is_same<T, __half>) {                                                                       \
    TILEWRIGHT_WGMMA(n, "k16.f32.f16.f16", ", " fourth ", " fifth, first, second, third, TILEWRIGHT_TRANSPOSED);   \
  } else {                                                                                                         \
    TILEWRIGHT_WGMMA(n, "k8.f32.tf32.tf32", "", first, second, third);                                             \
  }

// D = A B, or D += A B if `accumulate`.
template <class T, int N, bool kTransposedA, bool kTransposedB>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], u64 a, u64 b, bool accumulate) {
  static_assert(N % 32 == 0 && N >= 32 && N <= 256, "wgmma here takes 32 to 256 columns in steps of 32");
  static_assert(sizeof(T) == 2 || (!kTransposedA && !kTransposedB), "tf32 tiles are K-major");
  if constexpr (N == 32) {
    TILEWRIGHT_WGMMA_OF(32, "%16", "%17", "%18", "%19", "%20")
  } else if constexpr (N == 64) {
    TILEWRIGHT_WGMMA_OF(64, "%32", "%33", "%34", "%35", "%36")
  } else if constexpr (N == 96) {
    TILEWRIGHT_WGMMA_OF(96, "%48", "%49", "%50", "%51", "%52")
  } else if constexpr (N == 128) {
    TILEWRIGHT_WGMMA_OF(128, "%64", "%65", "%66", "%67", "%68")
  } else if constexpr (N == 160) {
    TILEWRIGHT_WGMMA_OF(160, "%80", "%81", "%82", "%83", "%84")
  } else if constexpr (N == 192) {
    TILEWRIGHT_WGMMA_OF(192, "%96", "%97", "%98", "%99", "%100")
  } else if constexpr (N == 224) {
    TILEWRIGHT_WGMMA_OF(224, "%112", "%113", "%114", "%115", "%116")
  } else if constexpr (N == 256) {
    TILEWRIGHT_WGMMA_OF(256, "%128", "%129", "%130", "%131", "%132")
  }
}

#undef TILEWRIGHT_WGMMA_OF
#undef TILEWRIGHT_WGMMA
#undef TILEWRIGHT_TRANSPOSED
#undef TILEWRIGHT_COMMA
#undef TILEWRIGHT_REGISTERS_16
#undef TILEWRIGHT_REGISTERS_4
#undef TILEWRIGHT_NUMBERS_0
#undef TILEWRIGHT_NUMBERS_16
#undef TILEWRIGHT_NUMBERS_32
#undef TILEWRIGHT_NUMBERS_48
#undef TILEWRIGHT_NUMBERS_64
#undef TILEWRIGHT_NUMBERS_80
#undef TILEWRIGHT_NUMBERS_96
#undef TILEWRIGHT_NUMBERS_112
#undef TILEWRIGHT_NUMBERS_OF_32
#undef TILEWRIGHT_NUMBERS_OF_64
#undef TILEWRIGHT_NUMBERS_OF_96
#undef TILEWRIGHT_NUMBERS_OF_128
#undef TILEWRIGHT_NUMBERS_OF_160
#undef TILEWRIGHT_NUMBERS_OF_192
#undef TILEWRIGHT_NUMBERS_OF_224
#undef TILEWRIGHT_NUMBERS_OF_256
#undef TILEWRIGHT_REGISTERS_OF_32
#undef TILEWRIGHT_REGISTERS_OF_64
#undef TILEWRIGHT_REGISTERS_OF_96
#undef TILEWRIGHT_REGISTERS_OF_128
#undef TILEWRIGHT_REGISTERS_OF_160
#undef TILEWRIGHT_REGISTERS_OF_192
#undef TILEWRIGHT_REGISTERS_OF_224
#undef TILEWRIGHT_REGISTERS_OF_256

}  // namespace tilewright::ptx
