// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/mma.cuh. The last lane to arrive gathers A, B and C, sums each element's products in double, and
// rounds once: at least as exact as the hardware, whose order of summation is unspecified.

#include "emulator/builtins/small_float.h"
#include "emulator/builtins/warp.h"
#include "emulator/device/ptx/access.h"

namespace tilewright::ptx {

namespace detail {

struct MmaLane {
  float* d;
  const u32* a;
  const u32* b;
  const float* c;
};

// How a register holds elements: kPerRegister of them, with neighbouring k.
template <class Format>
struct Packed16 {
  enum : int { kPerRegister = 2 };
  static double element(u32 bits, int which) {
    return static_cast<double>(Format::to_float(static_cast<u16>(bits >> (16 * which))));
  }
};
struct Tf32 {
  enum : int { kPerRegister = 1 };
  static double element(u32 bits, int) { return static_cast<double>(__builtin_bit_cast(float, bits & 0xffffe000u)); }
};

// k has two halves of 4 * kPerRegister elements each: one register of each of 4 lanes.
template <class Type>
void mma_combine(void* const* payloads, unsigned) {
  constexpr int kPer = Type::kPerRegister;
  constexpr int kHalf = 4 * kPer;
  double a[16][2 * kHalf];
  double b[2 * kHalf][8];
  const double absent = static_cast<double>(__builtin_nanf(""));
  for (int lane = 0; lane < 32; ++lane) {
    const auto* from = static_cast<const MmaLane*>(payloads[lane]);
    for (int half = 0; half < 2; ++half) {
      for (int which = 0; which < kPer; ++which) {
        const int k = half * kHalf + lane % 4 * kPer + which;
        for (int upper = 0; upper < 2; ++upper) {
          a[lane / 4 + 8 * upper][k] = from ? Type::element(from->a[2 * half + upper], which) : absent;
        }
        b[k][lane / 4] = from ? Type::element(from->b[half], which) : absent;
      }
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    auto* to = static_cast<MmaLane*>(payloads[lane]);
    if (to == nullptr) continue;
    float results[4];  // d may be c
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8;
      const int column = lane % 4 * 2 + i % 2;
      double sum = static_cast<double>(to->c[i]);
      for (int k = 0; k < 2 * kHalf; ++k) sum += a[row][k] * b[k][column];
      results[i] = static_cast<float>(sum);
    }
    for (int i = 0; i < 4; ++i) to->d[i] = results[i];
  }
}

template <class Type>
inline void mma(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2], const float (&c)[4], emulator::Site site) {
  MmaLane lane{d, a, b, c};
  emulator::runtime->collective(0xffffffffu, &lane, &mma_combine<Type>, site);
}

}  // namespace detail

inline void mma_m16n8k16_bf16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2], const float (&c)[4],
                              TILEWRIGHT_SITE) {
  detail::mma<detail::Packed16<emulator::Bfloat16Format>>(d, a, b, c, site);
}

inline void mma_m16n8k16_f16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2], const float (&c)[4],
                             TILEWRIGHT_SITE) {
  detail::mma<detail::Packed16<emulator::HalfFormat>>(d, a, b, c, site);
}

inline void mma_m16n8k8_tf32(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2], const float (&c)[4],
                             TILEWRIGHT_SITE) {
  detail::mma<detail::Tf32>(d, a, b, c, site);
}

inline u32 round_to_tf32(float value) {
  const u32 bits = __builtin_bit_cast(u32, value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffffffu;
  if ((bits & 0x7fffffffu) == 0x7f800000u) return bits;
  return (bits + 0x1000u) & 0xffffe000u;
}

}  // namespace tilewright::ptx
