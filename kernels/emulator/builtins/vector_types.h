// SPDX-License-Identifier: Apache-2.0
#pragma once

// CUDA's short vectors, with CUDA's alignments, and dim3.

#define TILEWRIGHT_VECTOR_TYPES(base, element, align2, align4)                                   \
  struct base##1 {                                                                               \
    element x;                                                                                   \
  };                                                                                             \
  struct alignas(align2) base##2 {                                                               \
    element x, y;                                                                                \
  };                                                                                             \
  struct base##3 {                                                                               \
    element x, y, z;                                                                             \
  };                                                                                             \
  struct alignas(align4) base##4 {                                                               \
    element x, y, z, w;                                                                          \
  };                                                                                             \
  inline constexpr base##1 make_##base##1(element x) { return {x}; }                             \
  inline constexpr base##2 make_##base##2(element x, element y) { return {x, y}; }               \
  inline constexpr base##3 make_##base##3(element x, element y, element z) { return {x, y, z}; } \
  inline constexpr base##4 make_##base##4(element x, element y, element z, element w) { return {x, y, z, w}; }

TILEWRIGHT_VECTOR_TYPES(char, signed char, 2, 4)
TILEWRIGHT_VECTOR_TYPES(uchar, unsigned char, 2, 4)
TILEWRIGHT_VECTOR_TYPES(short, short, 4, 8)
TILEWRIGHT_VECTOR_TYPES(ushort, unsigned short, 4, 8)
TILEWRIGHT_VECTOR_TYPES(int, int, 8, 16)
TILEWRIGHT_VECTOR_TYPES(uint, unsigned int, 8, 16)
TILEWRIGHT_VECTOR_TYPES(longlong, long long, 16, 16)
TILEWRIGHT_VECTOR_TYPES(ulonglong, unsigned long long, 16, 16)
TILEWRIGHT_VECTOR_TYPES(float, float, 8, 16)
TILEWRIGHT_VECTOR_TYPES(double, double, 16, 16)
#undef TILEWRIGHT_VECTOR_TYPES

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
