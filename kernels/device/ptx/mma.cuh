// SPDX-License-Identifier: Apache-2.0
#pragma once

// mma.sync: a warp computes D = A B + C for one small tile, with D and C in fp32. In lane l, with g = l / 4, t = l % 4:
//
//   D, C (16×8)       d[0..1]: row g,     columns 2t, 2t + 1        d[2..3]: row g + 8, the same columns
//   A (16×16, 16-bit) a[0]: row g, columns 2t, 2t + 1    a[1]: row g + 8    a[2], a[3]: the same, columns + 8
//   B (16×8, 16-bit)  b[0]: rows 2t, 2t + 1, column g    b[1]: rows 2t + 8, 2t + 9
//   A (16×8, tf32)    a[0]: row g, column t    a[1]: row g + 8    a[2], a[3]: the same, column t + 4
//   B (8×8, tf32)     b[0]: row t, column g    b[1]: row t + 4
//
// The lower half of a register holds the lower column (of A) or row (of B). All lanes must call. sm_80 and later.

#include "device/config.cuh"

namespace tilewright::ptx {

__device__ __forceinline__ void mma_m16n8k16_bf16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2],
                                                  const float (&c)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

__device__ __forceinline__ void mma_m16n8k16_f16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2],
                                                 const float (&c)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

// Elements of A and B are fp32 bits, of which the hardware uses the upper 19: round them by round_to_tf32 first.
__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2],
                                                 const float (&c)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

// Rounds to the nearest tf32, ties away from zero.
__device__ __forceinline__ u32 round_to_tf32(float value) {
  u32 bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}

}  // namespace tilewright::ptx
