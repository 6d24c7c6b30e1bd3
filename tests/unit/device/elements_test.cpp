// SPDX-License-Identifier: Apache-2.0
#include "kernels/utility/elements.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace tilewright::utility {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The value of a binary16, by definition.
double f16_value(u16 bits) {
  const int exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa == 0 ? sign * kInf : kNaN;
  return exponent == 0 ? sign * std::ldexp(mantissa, -24) : sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(Elements, every_half_becomes_the_float_that_its_definition_says) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<u16>(bits);
    const double expected = f16_value(half);
    const double value = static_cast<double>(f16_to_float(half));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(value, expected) << bits;
    }
  }
}

TEST(Elements, every_half_survives_a_round_trip) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<u16>(bits);
    if ((half & 0x7fffu) > 0x7c00u) continue;  // NaN
    ASSERT_EQ(float_to_f16(f16_to_float(half)), half);
    ASSERT_EQ(float_to_bf16(bf16_to_float(half)), half) << "as bf16";
  }
}

TEST(Elements, between_two_halves_the_nearer_is_taken_and_of_equally_near_ones_the_even) {
  for (unsigned bits = 0; bits < 0x7bff; ++bits) {
    const auto low = static_cast<u16>(bits), high = static_cast<u16>(bits + 1);
    const float a = f16_to_float(low), b = f16_to_float(high), middle = (a + b) / 2;
    ASSERT_EQ(float_to_f16(middle), bits % 2 == 0 ? low : high) << bits;
    ASSERT_EQ(float_to_f16(std::nextafter(middle, b)), high) << bits;
    ASSERT_EQ(float_to_f16(std::nextafter(middle, a)), low) << bits;
  }
  EXPECT_EQ(float_to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_f16(-1e30f), 0xfc00);
}

TEST(Elements, narrowing_keeps_nan_a_nan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(f16_to_float(float_to_f16(nan))));
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(float_of(0x7f800001u)))));
}

TEST(Elements, every_type_is_written_and_read) {
  const Type types[] = {kF32, kF16, kBf16, kF64, kI32, kI64, kU32, kU64, kU8};
  for (const Type type : types) {
    u64 memory[4] = {};
    write_element(memory, type, 1, 3.0f);
    EXPECT_EQ(read_element(memory, type, 1), 3.0) << type;
    EXPECT_EQ(read_element(memory, type, 0), 0.0) << type;
    std::memset(memory, 0xff, sizeof memory);
    EXPECT_TRUE(is_poison(memory, type, 1)) << type;
    write_element(memory, type, 1, 3.0f);
    EXPECT_FALSE(is_poison(memory, type, 1)) << type;
    EXPECT_TRUE(is_poison(memory, type, 0)) << type;
    EXPECT_TRUE(is_poison(memory, type, 2)) << type;
  }
  int whole = 0;
  write_element(&whole, kI32, 0, -2.6f);
  EXPECT_EQ(whole, -3);
  u32 magnitude = 0;
  write_element(&magnitude, kU32, 0, -2.6f);
  EXPECT_EQ(magnitude, 3u);
}

TEST(Elements, normal_fill_has_mean_0_and_deviation_1) {
  constexpr int kCount = 1'000'000;
  double sum = 0, squares = 0, largest = 0;
  for (int i = 0; i < kCount; ++i) {
    const double value = random_integer(kNormal, 42, i) * unit(kNormal);
    sum += value;
    squares += value * value;
    largest = std::max(largest, std::fabs(value));
  }
  EXPECT_NEAR(sum / kCount, 0, 0.004);
  EXPECT_NEAR(squares / kCount, 1, 0.006);
  EXPECT_GT(largest, 4);
  EXPECT_LT(largest, 4.9);
}

TEST(Elements, uniform_fill_lies_within_1_and_covers_it) {
  constexpr int kCount = 1'000'000;
  double sum = 0, squares = 0, low = 1, high = -1;
  for (int i = 0; i < kCount; ++i) {
    const double value = random_integer(kUniform, 42, i) * unit(kUniform);
    sum += value;
    squares += value * value;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  EXPECT_NEAR(sum / kCount, 0, 0.003);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.002);
  EXPECT_GE(low, -1);
  EXPECT_LE(high, 1);
  EXPECT_GT(high - low, 1.9999);
}

TEST(Elements, other_keys_give_other_numbers) {
  int same = 0;
  for (int i = 0; i < 1000; ++i) same += random_integer(kNormal, 1, i) == random_integer(kNormal, 2, i);
  EXPECT_LT(same, 5);
}

Difference judge(double value, double reference, bool poison = false, double overflow = kInf) {
  Difference difference = no_difference();
  add_element(difference, value, reference, poison, {0.01, 0.1, overflow}, 5);
  return difference;
}

TEST(Elements, an_element_is_right_within_absolute_plus_relative_tolerance) {
  EXPECT_EQ(judge(1.1, 1.0).wrong, 0u);
  EXPECT_EQ(judge(0.9, 1.0).wrong, 0u);
  EXPECT_EQ(judge(1.12, 1.0).wrong, 1u);
  EXPECT_EQ(judge(0.88, 1.0).wrong, 1u);
  EXPECT_EQ(judge(-1.0, 1.0).wrong, 1u);
  EXPECT_EQ(judge(0.009, 0.0).wrong, 0u);
  EXPECT_EQ(judge(0.011, 0.0).wrong, 1u);
  EXPECT_EQ(judge(1.12, 1.0).first_wrong, 5u);
  EXPECT_EQ(judge(1.1, 1.0).first_wrong, kPoison);
}

TEST(Elements, nan_and_infinity_must_be_where_the_reference_has_them) {
  EXPECT_EQ(judge(kNaN, kNaN).wrong, 0u);
  EXPECT_EQ(judge(1.0, kNaN).wrong, 1u);
  EXPECT_EQ(judge(kInf, kNaN).wrong, 1u);
  EXPECT_EQ(judge(kNaN, 1.0).wrong, 1u);
  EXPECT_EQ(judge(kInf, kInf).wrong, 0u);
  EXPECT_EQ(judge(-kInf, kInf).wrong, 1u);
  EXPECT_EQ(judge(1e300, kInf).wrong, 1u);
  EXPECT_EQ(judge(kInf, 1.0).wrong, 1u);
  EXPECT_EQ(judge(kNaN, kInf).wrong, 1u);
}

TEST(Elements, infinity_is_right_where_the_type_rounds_to_it) {
  EXPECT_EQ(judge(kInf, 70000.0, false, 65520.0).wrong, 0u);
  EXPECT_EQ(judge(-kInf, 70000.0, false, 65520.0).wrong, 1u);
  EXPECT_EQ(judge(-kInf, -70000.0, false, 65520.0).wrong, 0u);
  EXPECT_EQ(judge(kInf, 60000.0, false, 65520.0).wrong, 1u);
  EXPECT_EQ(judge(kNaN, 70000.0, false, 65520.0).wrong, 1u);
}

TEST(Elements, poison_where_a_number_should_be_counts_as_unwritten) {
  EXPECT_EQ(judge(kNaN, 1.0, true).unwritten, 1u);
  EXPECT_EQ(judge(kNaN, 1.0, false).unwritten, 0u);
  EXPECT_EQ(judge(kNaN, kNaN, true).unwritten, 0u);
}

TEST(Elements, what_the_reference_does_not_have_must_be_poison) {
  const double poison = __builtin_bit_cast(double, kPoison);
  EXPECT_EQ(judge(kNaN, poison, true).wrong, 0u);
  for (const double written : {1.0, kInf, kNaN}) {
    EXPECT_EQ(judge(written, poison, false).wrong, 1u);
    EXPECT_EQ(judge(written, poison, false).stray, 1u);
    EXPECT_EQ(judge(written, poison, false).error_squares, 0.0);
  }
  EXPECT_EQ(judge(kNaN, kNaN, false).stray, 0u) << "a NaN that was computed";
}

TEST(Elements, what_a_sampled_reference_leaves_out_must_be_written_and_be_no_nan) {
  const double poison = __builtin_bit_cast(double, kPoison);
  const auto judge_left_out = [&](double value, bool unwritten, double reference) {
    Difference difference = no_difference();
    add_element(difference, value, reference, unwritten, {0.01, 0.1, kInf, true}, 5);
    return difference;
  };
  for (const double written : {1.0, -1e300, kInf}) {
    EXPECT_EQ(judge_left_out(written, false, poison).wrong, 0u);
    EXPECT_EQ(judge_left_out(written, false, poison).reference_squares, 0.0);
  }
  EXPECT_EQ(judge_left_out(kNaN, true, poison).wrong, 1u);
  EXPECT_EQ(judge_left_out(kNaN, true, poison).unwritten, 1u);
  EXPECT_EQ(judge_left_out(kNaN, true, poison).stray, 0u);
  EXPECT_EQ(judge_left_out(kNaN, false, poison).wrong, 1u);
  EXPECT_EQ(judge_left_out(kNaN, false, poison).stray, 1u);
  EXPECT_EQ(judge_left_out(kNaN, false, poison).unwritten, 0u);
  EXPECT_EQ(judge_left_out(2.0, false, 1.0).wrong, 1u) << "what it has is compared";
  EXPECT_EQ(judge_left_out(kNaN, false, kNaN).wrong, 0u) << "a NaN that was computed";
}

TEST(Elements, differences_add_up) {
  Difference all = no_difference();
  const Bounds bounds{0.0, 0.2, kInf};
  const double values[] = {1.0, 2.5, 3.0, kNaN}, references[] = {1.0, 2.0, 4.0, 1.0};
  for (int i = 0; i < 4; ++i) {
    Difference one = no_difference();
    add_element(one, values[i], references[i], false, bounds, i);
    merge(all, one);
  }
  EXPECT_DOUBLE_EQ(all.max_absolute, 1.0);
  EXPECT_DOUBLE_EQ(all.max_relative, 0.25);
  EXPECT_DOUBLE_EQ(all.error_squares, 0.25 + 1.0);
  EXPECT_DOUBLE_EQ(all.reference_squares, 1.0 + 4.0 + 16.0);
  EXPECT_EQ(all.wrong, 3u);
  EXPECT_EQ(all.first_wrong, 1u);
}

TEST(Elements, word_tallies_change_with_any_word_and_with_their_order) {
  const auto tally = [](std::initializer_list<u64> words) {
    WordTally all{0, 0};
    i64 index = 0;
    for (const u64 word : words) add_word(all, word, index++);
    return all;
  };
  EXPECT_EQ(tally({1, 2, 3}).sum, tally({1, 2, 3}).sum);
  EXPECT_NE(tally({1, 2, 3}).sum, tally({1, 2, 4}).sum);
  EXPECT_NE(tally({1, 2, 3}).sum, tally({1, 3, 2}).sum);
  EXPECT_NE(tally({0, 0}).sum, tally({0, 0, 0}).sum);
  EXPECT_EQ(tally({kPoison, 2, kPoison}).poison, 2u);
}

}  // namespace
}  // namespace tilewright::utility
