// SPDX-License-Identifier: Apache-2.0
// All values of the 16-bit types: kernels/emulator/builtins/small_float.h.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test {
namespace {

constexpr unsigned kAll = 65536;

/// A 16-bit format by definition, in double: the tests' reference.
struct Format {
  int mantissa_bits;
  int bias;
  std::uint16_t infinity;

  [[nodiscard]] double value(std::uint16_t bits) const {
    const int magnitude = bits & 0x7fff;
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (magnitude > infinity) return std::numeric_limits<double>::quiet_NaN();
    if (magnitude == infinity) return sign * std::numeric_limits<double>::infinity();
    const int exponent = magnitude >> mantissa_bits;
    const int mantissa = magnitude & ((1 << mantissa_bits) - 1);
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  }

  /// The nearest value, ties to even, by search among all values.
  [[nodiscard]] std::uint16_t nearest(long double wanted) const {
    if (std::isnan(wanted)) return 0x7fff;
    const std::uint16_t sign = std::signbit(wanted) ? 0x8000 : 0;
    wanted = std::fabs(wanted);
    std::uint16_t low = 0;
    std::uint16_t high = infinity;
    while (high - low > 1) {
      const auto middle = static_cast<std::uint16_t>((low + high) / 2);
      (value(middle) <= wanted ? low : high) = middle;
    }
    // Infinity takes the place of the next finite value.
    const double top = high == infinity ? 2 * value(low) - value(static_cast<std::uint16_t>(low - 1)) : value(high);
    const double middle = value(low) + (top - value(low)) / 2;
    const bool up = wanted > middle || (wanted == middle && (low & 1) != 0);
    return static_cast<std::uint16_t>(sign | (up ? high : low));
  }
};

constexpr Format kHalf{10, 15, 0x7c00};
constexpr Format kBfloat16{7, 127, 0x7f80};

/// All 16-bit values widened to float, and narrowed again.
struct Widened {
  std::vector<float> wide = std::vector<float>(kAll);
  std::vector<std::uint16_t> back = std::vector<std::uint16_t>(kAll);
};

Widened widen_all(const std::string& type) {
  const EmulatedKernel kernel("template <class Config> __global__ void kernel(float* wide, " + type + "* back) {\n" +
                              "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
                              "  const auto value = " + type + "::from_bits(static_cast<unsigned short>(i));\n" +
                              "  wide[i] = value;\n  back[i] = static_cast<float>(value);\n}\n");
  Widened result;
  EXPECT_EQ(kernel.run(extents(kAll / 256, 256), result.wide.data(), result.back.data()).text, "");
  return result;
}

std::vector<std::uint16_t> narrow(const std::string& type, const std::vector<float>& values) {
  const EmulatedKernel kernel(
      "template <class Config> __global__ void kernel(const float* x, " + type + "* y, unsigned n) {\n" +
      "  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 65536) y[i] = x[i];\n}\n");
  std::vector<std::uint16_t> result(values.size());
  EXPECT_EQ(kernel.run(extents(256, 256), values.data(), result.data(), static_cast<unsigned>(values.size())).text, "");
  return result;
}

void expect_all_round_trip(const std::string& type, const Format& format) {
  const Widened all = widen_all(type);
  for (unsigned i = 0; i < kAll; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const double expected = format.value(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(all.wide[i])) << type << " " << i;
      ASSERT_EQ(all.back[i], 0x7fff) << type << " " << i;
    } else {
      ASSERT_EQ(static_cast<double>(all.wide[i]), expected) << type << " " << i;
      ASSERT_EQ(all.back[i], bits) << type << " " << i;
    }
  }
}

/// Narrows, between each two neighbours, the midpoint and the floats next to it.
void expect_nearest_even(const std::string& type, const Format& format) {
  std::vector<float> values{0.0f,
                            -0.0f,
                            65519.99f,
                            65520.0f,
                            65536.0f,
                            3.3895e38f,
                            3.4e38f,
                            1e-30f,
                            1e-45f,
                            -1e-45f,
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::max()};
  for (std::uint16_t i = 0; i + 1 < format.infinity; ++i) {
    const auto middle = static_cast<float>((format.value(i) + format.value(static_cast<std::uint16_t>(i + 1))) / 2);
    for (const float value : {middle, std::nextafter(middle, 1e38f), std::nextafter(middle, 0.0f)}) {
      values.push_back(value);
      values.push_back(-value);
    }
  }
  const std::vector<std::uint16_t> narrowed = narrow(type, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(narrowed[i], format.nearest(static_cast<double>(values[i]))) << type << " " << values[i];
  }
}

TEST(SmallFloat, every_half_survives_the_way_through_float) { expect_all_round_trip("__half", kHalf); }
TEST(SmallFloat, every_bfloat16_survives_the_way_through_float) { expect_all_round_trip("__nv_bfloat16", kBfloat16); }
TEST(SmallFloat, floats_round_to_the_nearest_half_and_ties_to_even) { expect_nearest_even("__half", kHalf); }
TEST(SmallFloat, floats_round_to_the_nearest_bfloat16_and_ties_to_even) {
  expect_nearest_even("__nv_bfloat16", kBfloat16);
}

TEST(SmallFloat, a_double_rounds_once_and_not_by_way_of_float) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(const double* x, __half* h, __nv_bfloat16* b) {
  h[threadIdx.x] = __double2half(x[threadIdx.x]);
  b[threadIdx.x] = __double2bfloat16(x[threadIdx.x]);
})cu");
  // Above a tie of half by less than float's precision; the same for bfloat16; and large values.
  std::vector<double> values{
      1.0 + 0x1p-11 + 0x1p-40, 1.0 + 0x1p-8 + 0x1p-40, -1.0 - 0x1p-11 - 0x1p-40, 1e300, -1e300, 1e-300,
      0x1p-25 + 0x1p-60,       std::nan(""),           65519.999999999,          0.1};
  std::vector<std::uint16_t> half(values.size());
  std::vector<std::uint16_t> bfloat16(values.size());
  ASSERT_EQ(
      kernel.run(extents(1, static_cast<unsigned>(values.size())), values.data(), half.data(), bfloat16.data()).text,
      "");
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(half[i], kHalf.nearest(values[i])) << values[i];
    EXPECT_EQ(bfloat16[i], kBfloat16.nearest(values[i])) << values[i];
  }
}

/// Pairs of operands that cover exponents and signs without covering all 2^32.
std::vector<std::uint16_t> operands(std::uint64_t seed) {
  std::vector<std::uint16_t> result;
  for (int i = 0; i < 4096; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    result.push_back(static_cast<std::uint16_t>(seed >> 48));
  }
  return result;
}

/// x * y + z, moved off a tie by one unit if the sum is inexact in long double: right for rounding to fewer bits.
long double exact_fma(long double x, long double y, long double z) {
  const long double product = x * y;
  const long double sum = product + z;
  const long double back = sum - product;
  const long double error = (product - (sum - back)) + (z - back);
  if (!std::isfinite(sum) || error == 0) return sum;
  return std::nextafter(sum, error > 0 ? HUGE_VALL : -HUGE_VALL);
}

void expect_arithmetic(const std::string& type, const Format& format) {
  const EmulatedKernel kernel("template <class Config> __global__ void kernel(const " + type + "* a, const " + type +
                              "* b, const " + type + "* c, " + type + "* out) {\n" +
                              "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = 4096;\n" +
                              "  out[i] = a[i] + b[i];\n  out[n + i] = __hmul(a[i], b[i]);\n" +
                              "  out[2 * n + i] = a[i] / b[i];\n  out[3 * n + i] = __hfma(a[i], b[i], c[i]);\n" +
                              "  out[4 * n + i] = __hmax(a[i], b[i]);\n  out[5 * n + i] = __hneg(a[i] - b[i]);\n}\n");
  const auto a = operands(1), b = operands(2), c = operands(3);
  const std::size_t n = a.size();
  std::vector<std::uint16_t> out(6 * n);
  ASSERT_EQ(kernel.run(extents(16, 256), a.data(), b.data(), c.data(), out.data()).text, "");
  for (std::size_t i = 0; i < n; ++i) {
    const double x = format.value(a[i]), y = format.value(b[i]), z = format.value(c[i]);
    const auto nearest = [&](long double exact) { return format.nearest(exact); };
    ASSERT_EQ(out[i], nearest(x + y)) << type << x << " + " << y;
    ASSERT_EQ(out[n + i], nearest(x * y)) << type << x << " * " << y;
    ASSERT_EQ(out[2 * n + i], nearest(x / y)) << type << x << " / " << y;
    ASSERT_EQ(out[3 * n + i], nearest(exact_fma(x, y, z))) << type << x << " * " << y << " + " << z;
    const double larger = format.value(out[4 * n + i]);
    if (std::isnan(x) && std::isnan(y)) {
      ASSERT_TRUE(std::isnan(larger));
    } else {
      ASSERT_EQ(larger, std::fmax(x, y));
    }
    ASSERT_EQ(out[5 * n + i] ^ 0x8000, nearest(x - y)) << type << x << " - " << y;
  }
}

TEST(SmallFloat, half_arithmetic_rounds_the_exact_result_once) { expect_arithmetic("__half", kHalf); }
TEST(SmallFloat, bfloat16_arithmetic_rounds_the_exact_result_once) { expect_arithmetic("__nv_bfloat16", kBfloat16); }

TEST(SmallFloat, pairs_keep_low_and_high_apart) {
  const EmulatedKernel kernel(R"cu(
template <class Config> __global__ void kernel(float* out) {
  const __half2 pair = __floats2half2_rn(1.5f, -2.25f);
  const float2 both = __half22float2(__hfma2(pair, pair, __half2half2(__float2half(1.0f))));
  out[0] = both.x;
  out[1] = both.y;
  const __nv_bfloat162 wide = __halves2bfloat162(__float2bfloat16(3.0f), __float2bfloat16(5.0f));
  out[2] = __low2float(wide);
  out[3] = __high2float(__lowhigh2highlow(wide));
  unsigned bits;
  __builtin_memcpy(&bits, &pair, 4);
  out[4] = static_cast<float>(bits & 0xffff);
})cu");
  std::vector<float> out(5);
  ASSERT_EQ(kernel.run(extents(1, 1), out.data()).text, "");
  EXPECT_EQ(out, (std::vector<float>{3.25f, 6.0625f, 3.0f, 3.0f, static_cast<float>(kHalf.nearest(1.5))}));
}

}  // namespace
}  // namespace tilewright::test
