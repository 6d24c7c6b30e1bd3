// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions of one element: random values, conversions and comparison, for the kernels of tensor_tools.cu and the host.
// The same source and integer arithmetic give the same bits on a GPU, on the emulator and on the host. Plain functions
// without qualifiers: NVRTC compiles them as device code.

namespace tilewright::utility {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

// The element types, in the order of the host's DType.
enum Type : i64 { kF32, kF16, kBf16, kF64, kI32, kI64, kU32, kU64, kU8 };

// How a tensor is filled.
enum Fill : i64 { kNormal, kUniform };

// All bits set: an output's content before a kernel writes it. No arithmetic gives this NaN.
inline constexpr u64 kPoison = ~0ull;

// 64 pseudo-random bits for a counter (Steele, Lea and Flood, SplittableRandom, 2014).
constexpr u64 random_bits(u64 key, u64 counter) {
  u64 z = key + (counter + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// Twice the sum of four 16-bit numbers, centred.
constexpr int four_uniforms(u64 bits) {
  const u64 pairs = (bits & 0x0000ffff0000ffffull) + ((bits >> 16) & 0x0000ffff0000ffffull);
  return 2 * static_cast<int>((pairs & 0xffffffffu) + (pairs >> 32)) - 4 * 65535;
}

// Element `index` of a tensor as an integer, symmetric about 0. Times `unit(fill)` it has deviation 1 (normal: a sum of
// eight uniform numbers, at most 4.9 deviations) or lies in ±1 (uniform).
constexpr int random_integer(Fill fill, u64 key, i64 index) {
  const u64 i = static_cast<u64>(index);
  if (fill == kNormal) return four_uniforms(random_bits(key, 2 * i)) + four_uniforms(random_bits(key, 2 * i + 1));
  return 2 * static_cast<int>(random_bits(key, i) >> 40) - ((1 << 24) - 1);
}

constexpr double unit(Fill fill) {
  // Deviation of the sum: sqrt(8 · (65536² − 1) / 12) · 2.
  return fill == kNormal ? 1.0 / 107019.8462 : 1.0 / (1 << 24);
}

// Conversions between float, its bits and 16-bit types; rounding is to the nearest, ties to even.
constexpr u32 bits_of(float value) { return __builtin_bit_cast(u32, value); }
constexpr float float_of(u32 bits) { return __builtin_bit_cast(float, bits); }

constexpr float bf16_to_float(u16 bits) { return float_of(static_cast<u32>(bits) << 16); }

constexpr u16 float_to_bf16(float value) {
  const u32 bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<u16>((bits >> 16) | 0x40u);
  return static_cast<u16>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

constexpr float f16_to_float(u16 bits) {
  const u32 sign = static_cast<u32>(bits & 0x8000u) << 16;
  const u32 exponent = (bits >> 10) & 0x1fu, mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return float_of(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) return float_of(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Below 2^-14 the mantissa counts steps of 2^-24.
  const float magnitude = static_cast<float>(static_cast<int>(mantissa)) * 5.9604644775390625e-8f;
  return float_of(sign | bits_of(magnitude));
}

constexpr u16 float_to_f16(float value) {
  const u32 sign = (bits_of(value) >> 16) & 0x8000u;
  const u32 bits = bits_of(value) & 0x7fffffffu;
  if (bits > 0x7f800000u) return static_cast<u16>(sign | 0x7e00u);
  if (bits >= 0x477ff000u) return static_cast<u16>(sign | 0x7c00u);  // 65520 and more
  if (bits < 0x38800000u) {
    // Below 2^-14: adding 2^-1 leaves the rounded count of 2^-24 in the low bits.
    return static_cast<u16>(sign | (bits_of(float_of(bits) + 0.5f) - 0x3f000000u));
  }
  return static_cast<u16>(sign | ((bits + 0xfffu + ((bits >> 13) & 1u) - (112u << 23)) >> 13));
}

// Element `index` of a tensor, as a double: exact except for i64 and u64 beyond 2^53.
inline double read_element(const void* tensor, Type type, i64 index) {
  switch (type) {
    case kF32:
      return static_cast<double>(static_cast<const float*>(tensor)[index]);
    case kF16:
      return static_cast<double>(f16_to_float(static_cast<const u16*>(tensor)[index]));
    case kBf16:
      return static_cast<double>(bf16_to_float(static_cast<const u16*>(tensor)[index]));
    case kF64:
      return static_cast<const double*>(tensor)[index];
    case kI32:
      return static_cast<double>(static_cast<const int*>(tensor)[index]);
    case kI64:
      return static_cast<double>(static_cast<const i64*>(tensor)[index]);
    case kU32:
      return static_cast<double>(static_cast<const u32*>(tensor)[index]);
    case kU64:
      return static_cast<double>(static_cast<const u64*>(tensor)[index]);
    case kU8:
      return static_cast<double>(static_cast<const u8*>(tensor)[index]);
  }
  return 0.0;
}

// Whether all bits of the element are set.
inline bool is_poison(const void* tensor, Type type, i64 index) {
  switch (type) {
    case kF16:
    case kBf16:
      return static_cast<const u16*>(tensor)[index] == 0xffffu;
    case kF32:
    case kI32:
    case kU32:
      return static_cast<const u32*>(tensor)[index] == 0xffffffffu;
    case kF64:
    case kI64:
    case kU64:
      return static_cast<const u64*>(tensor)[index] == kPoison;
    case kU8:
      return static_cast<const u8*>(tensor)[index] == 0xffu;
  }
  return false;
}

// Rounds to the element's type. Integers round half away from zero; unsigned ones take the magnitude.
inline void write_element(void* tensor, Type type, i64 index, float value) {
  const float magnitude = value < 0.0f ? -value : value;
  const i64 whole = static_cast<i64>(magnitude + 0.5f);
  const i64 signed_whole = value < 0.0f ? -whole : whole;
  switch (type) {
    case kF32:
      static_cast<float*>(tensor)[index] = value;
      return;
    case kF16:
      static_cast<u16*>(tensor)[index] = float_to_f16(value);
      return;
    case kBf16:
      static_cast<u16*>(tensor)[index] = float_to_bf16(value);
      return;
    case kF64:
      static_cast<double*>(tensor)[index] = static_cast<double>(value);
      return;
    case kI32:
      static_cast<int*>(tensor)[index] = static_cast<int>(signed_whole);
      return;
    case kI64:
      static_cast<i64*>(tensor)[index] = signed_whole;
      return;
    case kU32:
      static_cast<u32*>(tensor)[index] = static_cast<u32>(whole);
      return;
    case kU64:
      static_cast<u64*>(tensor)[index] = static_cast<u64>(whole);
      return;
    case kU8:
      static_cast<u8*>(tensor)[index] = static_cast<u8>(whole);
      return;
  }
}

// A tensor's checksum, which depends on the values and the order of its words, and the number of poison words.
struct WordTally {
  u64 sum;
  u64 poison;
};

constexpr void add_word(WordTally& tally, u64 word, i64 index) {
  tally.sum += random_bits(word, static_cast<u64>(index));
  tally.poison += word == kPoison ? 1u : 0u;
}

constexpr void merge(WordTally& into, const WordTally& other) {
  into.sum += other.sum;
  into.poison += other.poison;
}

// The bounds of each element's error.
struct Bounds {
  double absolute;
  double relative;
  // The magnitude from which the type rounds to infinity: then infinity is right, too.
  double overflow;
  // The reference may leave elements out: if it is poison, any number is right.
  bool sampled = false;
};

// A tensor's differences from its reference.
struct Difference {
  double max_absolute;
  double max_relative;
  double error_squares;
  double reference_squares;
  u64 wrong;
  u64 unwritten;
  // Wrong elements that were written but are poison in the reference: they lie between rows or, with a sampled
  // reference, are NaN.
  u64 stray;
  // The lowest index of a wrong element; kPoison without one.
  u64 first_wrong;
};

constexpr Difference no_difference() { return {0.0, 0.0, 0.0, 0.0, 0, 0, 0, kPoison}; }

constexpr bool is_nan(double value) { return !(value == value); }
constexpr bool is_finite(double value) { return value - value == 0.0; }

// Judges one element; `poison`: it is still poison. If the reference is poison (between the rows of a pitched tensor),
// the element must be poison, too; with a sampled reference it must be written and not NaN. NaN must be NaN, an
// infinity the same infinity, all else within absolute + relative · |reference|.
constexpr void add_element(Difference& difference, double value, double reference, bool poison, const Bounds& bounds,
                           i64 index) {
  const double magnitude = reference < 0.0 ? -reference : reference;
  const bool is_absent = __builtin_bit_cast(u64, reference) == kPoison;
  const bool is_left_out = is_absent && bounds.sampled;
  bool right = false;
  if (is_left_out && (poison || !is_nan(value))) {
    right = !poison;
  } else if (is_absent && !poison) {
    difference.stray += 1;
  } else if (is_nan(reference)) {
    right = is_nan(value);
  } else if (is_finite(reference) && is_finite(value)) {
    const double error = value < reference ? reference - value : value - reference;
    right = error <= bounds.absolute + bounds.relative * magnitude;
    if (error > difference.max_absolute) difference.max_absolute = error;
    if (magnitude > 0.0 && error > difference.max_relative * magnitude) difference.max_relative = error / magnitude;
    difference.error_squares += error * error;
    difference.reference_squares += magnitude * magnitude;
  } else {
    right = value == reference ||
            (magnitude >= bounds.overflow && !is_nan(value) && !is_finite(value) && (value < 0.0) == (reference < 0.0));
  }
  if (right) return;
  difference.wrong += 1;
  if (poison && (is_left_out || !is_nan(reference))) difference.unwritten += 1;
  if (static_cast<u64>(index) < difference.first_wrong) difference.first_wrong = static_cast<u64>(index);
}

constexpr void merge(Difference& into, const Difference& other) {
  if (other.max_absolute > into.max_absolute) into.max_absolute = other.max_absolute;
  if (other.max_relative > into.max_relative) into.max_relative = other.max_relative;
  into.error_squares += other.error_squares;
  into.reference_squares += other.reference_squares;
  into.wrong += other.wrong;
  into.unwritten += other.unwritten;
  into.stray += other.stray;
  if (other.first_wrong < into.first_wrong) into.first_wrong = other.first_wrong;
}

}  // namespace tilewright::utility
