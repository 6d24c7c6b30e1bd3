// SPDX-License-Identifier: Apache-2.0
#pragma once

// Mathematical functions of the C library, declared here because <math.h> is slow to read. Approximate intrinsics
// (__expf…) return the accurate function's value: the emulator checks a kernel's logic, not the GPU's last bits.
// Functions that round once (fma, division, square root) are as on the GPU.

#define TILEWRIGHT_MATH1(name)                    \
  extern "C" double name(double) noexcept(true);  \
  extern "C" float name##f(float) noexcept(true); \
  inline float name(float value) { return name##f(value); }
#define TILEWRIGHT_MATH2(name)                           \
  extern "C" double name(double, double) noexcept(true); \
  extern "C" float name##f(float, float) noexcept(true); \
  inline float name(float a, float b) { return name##f(a, b); }

TILEWRIGHT_MATH1(exp)
TILEWRIGHT_MATH1(exp2)
TILEWRIGHT_MATH1(expm1)
TILEWRIGHT_MATH1(log)
TILEWRIGHT_MATH1(log2)
TILEWRIGHT_MATH1(log10)
TILEWRIGHT_MATH1(log1p)
TILEWRIGHT_MATH1(sqrt)
TILEWRIGHT_MATH1(cbrt)
TILEWRIGHT_MATH1(sin)
TILEWRIGHT_MATH1(cos)
TILEWRIGHT_MATH1(tan)
TILEWRIGHT_MATH1(tanh)
TILEWRIGHT_MATH1(sinh)
TILEWRIGHT_MATH1(cosh)
TILEWRIGHT_MATH1(asin)
TILEWRIGHT_MATH1(acos)
TILEWRIGHT_MATH1(atan)
TILEWRIGHT_MATH1(erf)
TILEWRIGHT_MATH1(erfc)
TILEWRIGHT_MATH1(fabs)
TILEWRIGHT_MATH1(floor)
TILEWRIGHT_MATH1(ceil)
TILEWRIGHT_MATH1(trunc)
TILEWRIGHT_MATH1(round)
TILEWRIGHT_MATH1(rint)
TILEWRIGHT_MATH1(nearbyint)
TILEWRIGHT_MATH2(pow)
TILEWRIGHT_MATH2(fmod)
TILEWRIGHT_MATH2(atan2)
TILEWRIGHT_MATH2(copysign)
TILEWRIGHT_MATH2(fdim)
#undef TILEWRIGHT_MATH1
#undef TILEWRIGHT_MATH2
extern "C" double fma(double, double, double) noexcept(true);
extern "C" float fmaf(float, float, float) noexcept(true);
extern "C" double ldexp(double, int) noexcept(true);
extern "C" float ldexpf(float, int) noexcept(true);
inline float fma(float a, float b, float c) { return fmaf(a, b, c); }

// Inline, since reductions use them. Of a NaN and a number, the number is returned.
inline float fmaxf(float a, float b) { return a > b || b != b ? a : b; }
inline float fminf(float a, float b) { return a < b || b != b ? a : b; }
inline double fmax(double a, double b) { return a > b || b != b ? a : b; }
inline double fmin(double a, double b) { return a < b || b != b ? a : b; }
inline float fmax(float a, float b) { return fmaxf(a, b); }
inline float fmin(float a, float b) { return fminf(a, b); }

inline int abs(int value) { return value < 0 ? -value : value; }
inline long long abs(long long value) { return value < 0 ? -value : value; }
inline float abs(float value) { return fabsf(value); }
inline double abs(double value) { return fabs(value); }
inline float min(float a, float b) { return fminf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

inline bool isnan(float value) { return __builtin_isnan(value); }
inline bool isnan(double value) { return __builtin_isnan(value); }
inline bool isinf(float value) { return __builtin_isinf(value) != 0; }
inline bool isinf(double value) { return __builtin_isinf(value) != 0; }
inline bool isfinite(float value) { return __builtin_isfinite(value); }
inline bool isfinite(double value) { return __builtin_isfinite(value); }

inline float rsqrtf(float value) { return static_cast<float>(1.0 / sqrt(static_cast<double>(value))); }
inline double rsqrt(double value) { return 1.0 / sqrt(value); }
inline float exp10f(float value) { return powf(10.0f, value); }
inline void sincosf(float angle, float* sine, float* cosine) {
  *sine = sinf(angle);
  *cosine = cosf(angle);
}

inline float __expf(float value) { return expf(value); }
inline float __exp10f(float value) { return exp10f(value); }
inline float __logf(float value) { return logf(value); }
inline float __log2f(float value) { return log2f(value); }
inline float __log10f(float value) { return log10f(value); }
inline float __sinf(float value) { return sinf(value); }
inline float __cosf(float value) { return cosf(value); }
inline float __tanf(float value) { return tanf(value); }
inline float __powf(float a, float b) { return powf(a, b); }
inline float __saturatef(float value) { return value > 0.0f ? (value < 1.0f ? value : 1.0f) : 0.0f; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float value) { return 1.0f / value; }
inline float __fsqrt_rn(float value) { return sqrtf(value); }
inline float __frsqrt_rn(float value) { return rsqrtf(value); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }

// Conversions to integers: values out of range become the nearest integer, and NaN becomes zero, as on the GPU.
namespace tilewright::emulator {
template <class Integer>
inline Integer clamp_to_integer(double value, Integer least, Integer most) {
  if (__builtin_isnan(value)) return 0;
  if (value <= static_cast<double>(least)) return least;
  if (value >= static_cast<double>(most)) return most;
  return static_cast<Integer>(value);
}
}  // namespace tilewright::emulator
inline int __float2int_rn(float value) {
  return tilewright::emulator::clamp_to_integer(rint(static_cast<double>(value)), -0x7fffffff - 1, 0x7fffffff);
}
inline int __float2int_rz(float value) {
  return tilewright::emulator::clamp_to_integer(trunc(static_cast<double>(value)), -0x7fffffff - 1, 0x7fffffff);
}
inline int __float2int_rd(float value) {
  return tilewright::emulator::clamp_to_integer(floor(static_cast<double>(value)), -0x7fffffff - 1, 0x7fffffff);
}
inline int __float2int_ru(float value) {
  return tilewright::emulator::clamp_to_integer(ceil(static_cast<double>(value)), -0x7fffffff - 1, 0x7fffffff);
}
inline unsigned __float2uint_rn(float value) {
  return tilewright::emulator::clamp_to_integer(rint(static_cast<double>(value)), 0u, 0xffffffffu);
}
inline unsigned __float2uint_rz(float value) {
  return tilewright::emulator::clamp_to_integer(trunc(static_cast<double>(value)), 0u, 0xffffffffu);
}
inline float __int2float_rn(int value) { return static_cast<float>(value); }
inline float __uint2float_rn(unsigned value) { return static_cast<float>(value); }
inline float __double2float_rn(double value) { return static_cast<float>(value); }
