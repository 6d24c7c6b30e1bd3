// SPDX-License-Identifier: Apache-2.0
#pragma once

// The 16-bit floating-point types; cuda_fp16.h and cuda_bf16.h define their CUDA names. Conversions from wider types
// round once, to the nearest, ties to even; NaN becomes the GPU's canonical 0x7fff. Arithmetic is computed in float and
// rounded, which is correctly rounded for 11 and 8 significant bits; fma is computed in double.

namespace tilewright::emulator {

struct HalfFormat {
  static constexpr unsigned short kInfinity = 0x7c00;

  static unsigned short from_float(float value) {
    const unsigned bits = __builtin_bit_cast(unsigned, value);
    const unsigned sign = bits >> 16 & 0x8000u;
    unsigned magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 0x7fff;
    if (magnitude >= 0x477ff000u) return static_cast<unsigned short>(sign | kInfinity);  // 65520 and above
    if (magnitude < 0x38800000u) {
      // A subnormal half: 0.5f has the same unit in the last place, so the addition rounds.
      const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
      return static_cast<unsigned short>(sign | (__builtin_bit_cast(unsigned, shifted) - 0x3f000000u));
    }
    magnitude += 0xc8000fffu + (magnitude >> 13 & 1u);  // rebias the exponent, and round
    return static_cast<unsigned short>(sign | magnitude >> 13);
  }

  static float to_float(unsigned short half) {
    const unsigned sign = (half & 0x8000u) << 16;
    const unsigned magnitude = half & 0x7fffu;
    unsigned bits;
    if (magnitude >= kInfinity) {
      bits = magnitude << 13 | 0x7f800000u;
    } else if (magnitude >= 0x400u) {
      bits = (magnitude << 13) + 0x38000000u;
    } else {
      bits = __builtin_bit_cast(unsigned, static_cast<float>(magnitude) * 0x1p-24f);
    }
    return __builtin_bit_cast(float, sign | bits);
  }
};

struct Bfloat16Format {
  static constexpr unsigned short kInfinity = 0x7f80;

  static unsigned short from_float(float value) {
    const unsigned bits = __builtin_bit_cast(unsigned, value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
  }

  static float to_float(unsigned short bits) { return __builtin_bit_cast(float, static_cast<unsigned>(bits) << 16); }
};

// `value` truncated to float, with its last bit set if inexact: rounding the result to fewer bits equals rounding
// `value`.
inline float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  unsigned bits = __builtin_bit_cast(unsigned, nearest);
  if (__builtin_isnan(value) || static_cast<double>(nearest) == value) return nearest;
  if (__builtin_fabs(static_cast<double>(nearest)) > __builtin_fabs(value)) --bits;
  return __builtin_bit_cast(float, bits | 1u);
}

// a * b + c in double, rounded to odd: exact enough for one rounding to 16 bits.
inline double fma_to_odd(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double addend = static_cast<double>(c);
  const double sum = product + addend;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (addend - back);
  unsigned long long bits = __builtin_bit_cast(unsigned long long, sum);
  if (error == 0.0 || __builtin_isnan(error) || (bits & 1u) != 0) return sum;
  bits += (error > 0.0) == (sum > 0.0) ? 1u : ~0ull;
  return __builtin_bit_cast(double, bits);
}

template <class Format>
struct SmallFloat {
  unsigned short bits;

  SmallFloat() = default;
  SmallFloat(float value) : bits(Format::from_float(value)) {}
  SmallFloat(double value) : bits(Format::from_float(round_to_odd(value))) {}
  SmallFloat(int value) : SmallFloat(static_cast<double>(value)) {}
  SmallFloat(unsigned value) : SmallFloat(static_cast<double>(value)) {}
  SmallFloat(long long value) : bits(from_integer(value)) {}
  static SmallFloat from_bits(unsigned short bits) {
    SmallFloat result;
    result.bits = bits;
    return result;
  }

  operator float() const { return Format::to_float(bits); }

  bool is_nan() const { return (bits & 0x7fffu) > Format::kInfinity; }

  friend SmallFloat operator+(SmallFloat a, SmallFloat b) { return {static_cast<float>(a) + static_cast<float>(b)}; }
  friend SmallFloat operator-(SmallFloat a, SmallFloat b) { return {static_cast<float>(a) - static_cast<float>(b)}; }
  friend SmallFloat operator*(SmallFloat a, SmallFloat b) { return {static_cast<float>(a) * static_cast<float>(b)}; }
  friend SmallFloat operator/(SmallFloat a, SmallFloat b) { return {static_cast<float>(a) / static_cast<float>(b)}; }
  friend SmallFloat operator-(SmallFloat a) { return from_bits(static_cast<unsigned short>(a.bits ^ 0x8000u)); }
  friend SmallFloat operator+(SmallFloat a) { return a; }
  friend bool operator==(SmallFloat a, SmallFloat b) { return static_cast<float>(a) == static_cast<float>(b); }
  friend bool operator!=(SmallFloat a, SmallFloat b) { return static_cast<float>(a) != static_cast<float>(b); }
  friend bool operator<(SmallFloat a, SmallFloat b) { return static_cast<float>(a) < static_cast<float>(b); }
  friend bool operator>(SmallFloat a, SmallFloat b) { return static_cast<float>(a) > static_cast<float>(b); }
  friend bool operator<=(SmallFloat a, SmallFloat b) { return static_cast<float>(a) <= static_cast<float>(b); }
  friend bool operator>=(SmallFloat a, SmallFloat b) { return static_cast<float>(a) >= static_cast<float>(b); }
  SmallFloat& operator+=(SmallFloat other) { return *this = *this + other; }
  SmallFloat& operator-=(SmallFloat other) { return *this = *this - other; }
  SmallFloat& operator*=(SmallFloat other) { return *this = *this * other; }
  SmallFloat& operator/=(SmallFloat other) { return *this = *this / other; }

 private:
  // Values beyond 2^53: their lower 12 bits, unless zero, are replaced by the middle, 2048, which rounds alike.
  static unsigned short from_integer(long long value) {
    const long long low = value & 4095;
    const bool fits = value >= -(1ll << 53) && value <= (1ll << 53);
    const double wide = fits ? static_cast<double>(value) : static_cast<double>(value - low + (low != 0 ? 2048 : 0));
    return Format::from_float(round_to_odd(wide));
  }
};

template <class Format>
struct alignas(4) SmallFloat2 {
  SmallFloat<Format> x, y;

  SmallFloat2() = default;
  SmallFloat2(SmallFloat<Format> x_, SmallFloat<Format> y_) : x(x_), y(y_) {}

  friend SmallFloat2 operator+(SmallFloat2 a, SmallFloat2 b) { return {a.x + b.x, a.y + b.y}; }
  friend SmallFloat2 operator-(SmallFloat2 a, SmallFloat2 b) { return {a.x - b.x, a.y - b.y}; }
  friend SmallFloat2 operator*(SmallFloat2 a, SmallFloat2 b) { return {a.x * b.x, a.y * b.y}; }
  friend SmallFloat2 operator/(SmallFloat2 a, SmallFloat2 b) { return {a.x / b.x, a.y / b.y}; }
  friend SmallFloat2 operator-(SmallFloat2 a) { return {-a.x, -a.y}; }
  SmallFloat2& operator+=(SmallFloat2 other) { return *this = *this + other; }
  SmallFloat2& operator-=(SmallFloat2 other) { return *this = *this - other; }
  SmallFloat2& operator*=(SmallFloat2 other) { return *this = *this * other; }
};

}  // namespace tilewright::emulator
