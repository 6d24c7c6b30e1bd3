// SPDX-License-Identifier: Apache-2.0
#pragma once

// wgmma (device/ptx/wgmma.cuh, wgmma_steps.cuh) with A in registers and a K-major B in shared memory; N is 64, 128, 192
// or 256. a[0] to a[3] are pairs of A's elements as in wgmma_registers. 16-bit elements, sm_90a only.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "device/config.cuh"

namespace tilewright::gemm {
#define TILEWRIGHT_NUMBERS_0                 \
  "%0, %1, %2, %3, %4, %5, %6, %7, "         \
  "%8, %9, %10, %11, %12, %13, %14, %15, "   \
  "%16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31"
#define TILEWRIGHT_NUMBERS_1                 \
  "%32, %33, %34, %35, %36, %37, %38, %39, " \
  "%40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, " \
  "%56, %57, %58, %59, %60, %61, %62, %63"
#define TILEWRIGHT_NUMBERS_2                 \
  "%64, %65, %66, %67, %68, %69, %70, %71, " \
  "%72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, " \
  "%88, %89, %90, %91, %92, %93, %94, %95"
#define TILEWRIGHT_NUMBERS_3                         \
  "%96, %97, %98, %99, %100, %101, %102, %103, "     \
  "%104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, " \
  "%120, %121, %122, %123, %124, %125, %126, %127"
#define TILEWRIGHT_FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define TILEWRIGHT_THIRTYTWO(i)                                                                \
  TILEWRIGHT_FOUR(i), TILEWRIGHT_FOUR(i + 4), TILEWRIGHT_FOUR(i + 8), TILEWRIGHT_FOUR(i + 12), \
      TILEWRIGHT_FOUR(i + 16), TILEWRIGHT_FOUR(i + 20), TILEWRIGHT_FOUR(i + 24), TILEWRIGHT_FOUR(i + 28)
#define TILEWRIGHT_NUMBERS_OF_64 TILEWRIGHT_NUMBERS_0
#define TILEWRIGHT_REGISTERS_OF_64 TILEWRIGHT_THIRTYTWO(0)
#define TILEWRIGHT_NUMBERS_OF_128 TILEWRIGHT_NUMBERS_0 ", " TILEWRIGHT_NUMBERS_1
#define TILEWRIGHT_REGISTERS_OF_128 TILEWRIGHT_THIRTYTWO(0), TILEWRIGHT_THIRTYTWO(32)
#define TILEWRIGHT_NUMBERS_OF_192 TILEWRIGHT_NUMBERS_0 ", " TILEWRIGHT_NUMBERS_1 ", " TILEWRIGHT_NUMBERS_2
#define TILEWRIGHT_REGISTERS_OF_192 TILEWRIGHT_THIRTYTWO(0), TILEWRIGHT_THIRTYTWO(32), TILEWRIGHT_THIRTYTWO(64)
#define TILEWRIGHT_NUMBERS_OF_256 \
  TILEWRIGHT_NUMBERS_0 ", " TILEWRIGHT_NUMBERS_1 ", " TILEWRIGHT_NUMBERS_2 ", " TILEWRIGHT_NUMBERS_3
#define TILEWRIGHT_REGISTERS_OF_256 \
  TILEWRIGHT_THIRTYTWO(0), TILEWRIGHT_THIRTYTWO(32), TILEWRIGHT_THIRTYTWO(64), TILEWRIGHT_THIRTYTWO(96)
// The arguments after N are the numbers of the operands after D.
#define TILEWRIGHT_WGMMA(type, n, a_, b_, p_)                                                                      \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p_ ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type \
               "." type " {" TILEWRIGHT_NUMBERS_OF_##n "}, {" a_ "}, " b_ ", p, 1, 1, 0;\n}"                       \
               : TILEWRIGHT_REGISTERS_OF_##n                                                                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<u32>(accumulate)))
#define TILEWRIGHT_WGMMA_OF(n, a_, b_, p_)     \
  if constexpr (N == n) {                      \
    if constexpr (is_same<T, __nv_bfloat16>) { \
      TILEWRIGHT_WGMMA("bf16", n, a_, b_, p_); \
    } else {                                   \
      TILEWRIGHT_WGMMA("f16", n, a_, b_, p_);  \
    }                                          \
  }

// D = A B, or D += A B if `accumulate`.
template <class T, int N>
__device__ __forceinline__ void wgmma_registers_k_major(float (&d)[N / 2], const u32 (&a)[4], u64 b, bool accumulate) {
  static_assert(sizeof(T) == 2 && N % 64 == 0 && N >= 64 && N <= 256, "16-bit elements, and 64 to 256 columns");
  TILEWRIGHT_WGMMA_OF(64, "%32, %33, %34, %35", "%36", "%37")
  TILEWRIGHT_WGMMA_OF(128, "%64, %65, %66, %67", "%68", "%69")
  TILEWRIGHT_WGMMA_OF(192, "%96, %97, %98, %99", "%100", "%101")
  TILEWRIGHT_WGMMA_OF(256, "%128, %129, %130, %131", "%132", "%133")
}

#undef TILEWRIGHT_WGMMA_OF
#undef TILEWRIGHT_WGMMA
#undef TILEWRIGHT_FOUR
#undef TILEWRIGHT_THIRTYTWO
#undef TILEWRIGHT_NUMBERS_0
#undef TILEWRIGHT_NUMBERS_1
#undef TILEWRIGHT_NUMBERS_2
#undef TILEWRIGHT_NUMBERS_3
#undef TILEWRIGHT_NUMBERS_OF_64
#undef TILEWRIGHT_REGISTERS_OF_64
#undef TILEWRIGHT_NUMBERS_OF_128
#undef TILEWRIGHT_REGISTERS_OF_128
#undef TILEWRIGHT_NUMBERS_OF_192
#undef TILEWRIGHT_REGISTERS_OF_192
#undef TILEWRIGHT_NUMBERS_OF_256
#undef TILEWRIGHT_REGISTERS_OF_256

}  // namespace tilewright::gemm
