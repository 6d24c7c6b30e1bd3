// SPDX-License-Identifier: Apache-2.0
#pragma once

// wgmma (ptx/wgmma.cuh) of 16-bit elements that writes D without reading it: no other instruction defines D's registers
// while products are in flight, which would make the compiler serialize them. Also products of tiles that are both
// transposed, for N of 64, 80, 96 and 128.
//
//   wgmma_fresh<T, N, kTransposed>(d, a, b)   D = A B, both in shared memory: K-major, or both transposed
//   wgmma_transposed<T, N>(d, a, b)           D += A B, both transposed
//
// sm_90a only. PTX ISA: "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "device/ptx/address.cuh"

namespace tilewright::ptx {

// Operand numbers and operands of D's registers in an asm statement.
#define TILEWRIGHT_NUMBERS_64                                                                                      \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31"
#define TILEWRIGHT_NUMBERS_80 TILEWRIGHT_NUMBERS_64 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define TILEWRIGHT_NUMBERS_96 TILEWRIGHT_NUMBERS_80 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define TILEWRIGHT_NUMBERS_128 \
  TILEWRIGHT_NUMBERS_96 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TILEWRIGHT_FOUR(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define TILEWRIGHT_SIXTEEN(c, i) \
  TILEWRIGHT_FOUR(c, i), TILEWRIGHT_FOUR(c, i + 4), TILEWRIGHT_FOUR(c, i + 8), TILEWRIGHT_FOUR(c, i + 12)
#define TILEWRIGHT_REGISTERS_64(c) TILEWRIGHT_SIXTEEN(c, 0), TILEWRIGHT_SIXTEEN(c, 16)
#define TILEWRIGHT_REGISTERS_80(c) TILEWRIGHT_REGISTERS_64(c), TILEWRIGHT_FOUR(c, 32), TILEWRIGHT_FOUR(c, 36)
#define TILEWRIGHT_REGISTERS_96(c) TILEWRIGHT_REGISTERS_64(c), TILEWRIGHT_SIXTEEN(c, 32)
#define TILEWRIGHT_REGISTERS_128(c) TILEWRIGHT_REGISTERS_96(c), TILEWRIGHT_SIXTEEN(c, 48)
// `c` is D's constraint, `p` whether D is accumulated, `t` whether tiles are transposed; a_ and b_ are operand numbers.
#define TILEWRIGHT_PRODUCT(type, c, n, a_, b_, p, t)                                                       \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" TILEWRIGHT_NUMBERS_##n \
               "}, %" #a_ ", %" #b_ ", " p ", 1, 1, " t ", " t ";"                                         \
               : TILEWRIGHT_REGISTERS_##n(c)                                                               \
               : "l"(a), "l"(b))
#define TILEWRIGHT_CASE(c, n, a_, b_, p, t)           \
  if constexpr (N == n) {                             \
    if constexpr (is_same<T, __nv_bfloat16>) {        \
      TILEWRIGHT_PRODUCT("bf16", c, n, a_, b_, p, t); \
    } else {                                          \
      TILEWRIGHT_PRODUCT("f16", c, n, a_, b_, p, t);  \
    }                                                 \
  }
#define TILEWRIGHT_CASES(c, p, t)      \
  TILEWRIGHT_CASE(c, 64, 32, 33, p, t) \
  TILEWRIGHT_CASE(c, 80, 40, 41, p, t) \
  TILEWRIGHT_CASE(c, 96, 48, 49, p, t) \
  TILEWRIGHT_CASE(c, 128, 64, 65, p, t)

template <class T, int N, bool kTransposed>
__device__ __forceinline__ void wgmma_fresh(float (&d)[N / 2], u64 a, u64 b) {
  static_assert(sizeof(T) == 2 && (N == 64 || N == 80 || N == 96 || N == 128),
                "16-bit elements, 64, 80, 96 or 128 columns");
  if constexpr (kTransposed) {
    TILEWRIGHT_CASES("=f", "0", "1")
  } else {
    TILEWRIGHT_CASES("=f", "0", "0")
  }
}

template <class T, int N>
__device__ __forceinline__ void wgmma_transposed(float (&d)[N / 2], u64 a, u64 b) {
  static_assert(sizeof(T) == 2 && (N == 64 || N == 80 || N == 96 || N == 128),
                "16-bit elements, 64, 80, 96 or 128 columns");
  TILEWRIGHT_CASES("+f", "1", "1")
}

#undef TILEWRIGHT_CASES
#undef TILEWRIGHT_CASE
#undef TILEWRIGHT_PRODUCT
#undef TILEWRIGHT_SIXTEEN
#undef TILEWRIGHT_FOUR
#undef TILEWRIGHT_NUMBERS_64
#undef TILEWRIGHT_NUMBERS_80
#undef TILEWRIGHT_NUMBERS_96
#undef TILEWRIGHT_NUMBERS_128
#undef TILEWRIGHT_REGISTERS_64
#undef TILEWRIGHT_REGISTERS_80
#undef TILEWRIGHT_REGISTERS_96
#undef TILEWRIGHT_REGISTERS_128

}  // namespace tilewright::ptx
