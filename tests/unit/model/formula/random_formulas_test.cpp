// SPDX-License-Identifier: Apache-2.0
// Random formulas from a fixed seed: valid ones against a 128-bit reference, and nonsense.
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <random>

#include "tests/unit/model/formula/formula_helpers.hpp"

namespace tilewright::random_formulas_test {
namespace {

// Standard C++ has no 128-bit integer; this extension serves only as the reference.
__extension__ using Wide = __int128;

struct Sample {
  std::string text;
  /// Unset if a part overflows 64 bits or divides by zero.
  std::optional<Wide> value;
};

class Generator {
 public:
  explicit Generator(unsigned seed) : engine_(seed) {}

  std::size_t below(std::size_t count) { return engine_() % count; }

  Sample expression(int depth) {
    if (depth == 0) return literal();
    const Sample a = expression(depth - 1);
    const Sample b = expression(depth - 1);
    const auto joined = [&](const char* op, auto apply) {
      return Sample{"(" + a.text + " " + op + " " + b.text + ")", both(a, b, apply)};
    };
    switch (below(9)) {
      case 0:
        return joined("+", [](Wide x, Wide y) { return std::optional<Wide>(x + y); });
      case 1:
        return joined("-", [](Wide x, Wide y) { return std::optional<Wide>(x - y); });
      case 2:
        return joined("*", [](Wide x, Wide y) { return std::optional<Wide>(x * y); });
      case 3:
        return joined("/", [](Wide x, Wide y) { return y == 0 ? std::nullopt : std::optional<Wide>(x / y); });
      case 4:
        return joined("%", [](Wide x, Wide y) { return y == 0 ? std::nullopt : std::optional<Wide>(x % y); });
      case 5:
        return joined("<", [](Wide x, Wide y) { return std::optional<Wide>(x < y ? 1 : 0); });
      case 6:
        return {"min(" + a.text + "," + b.text + ")",
                both(a, b, [](Wide x, Wide y) { return std::optional<Wide>(x < y ? x : y); })};
      case 7:
        return {"select(" + a.text + " > 0, " + b.text + ", 7)", !a.value       ? std::nullopt
                                                                 : *a.value > 0 ? b.value
                                                                                : std::optional<Wide>(7)};
      default:
        return {"-" + a.text, a.value ? in_range(-*a.value) : std::nullopt};
    }
  }

  std::string nonsense() {
    static const std::vector<std::string> kPieces{
        "(",   ")",    ",",   "+",   "-", "*",      "/",      "%",     "<",   "<=",   "==",        "!=",
        "and", "or",   "not", "m",   "n", "'a'",    "'",      "0",     "1",   "12",   "min",       "max",
        "=",   "\xc3", "$",   "act", " ", "select", "sizeof", "dtype", "f32", "log2", "pow2_ceil", "round_up"};
    std::string text;
    for (std::size_t i = below(12); i-- > 0;) text += kPieces[below(kPieces.size())];
    return text;
  }

 private:
  static std::optional<Wide> in_range(Wide value) {
    constexpr Wide kLeast = std::numeric_limits<std::int64_t>::min();
    constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
    return value < kLeast || value > kMost ? std::nullopt : std::optional<Wide>(value);
  }

  template <class Apply>
  static std::optional<Wide> both(const Sample& a, const Sample& b, Apply apply) {
    if (!a.value || !b.value) return std::nullopt;
    const std::optional<Wide> result = apply(*a.value, *b.value);
    return result ? in_range(*result) : std::nullopt;
  }

  Sample literal() {
    static constexpr std::int64_t kValues[] = {
        0, 1, 2, 3, 7, 1001, std::int64_t{1} << 31, std::numeric_limits<std::int64_t>::max()};
    const std::int64_t value = kValues[below(std::size(kValues))];
    return {std::to_string(value), value};
  }

  std::mt19937 engine_;
};

TEST(RandomFormulas, agree_with_arithmetic_of_128_bits_or_are_refused_where_64_do_not_hold_it) {
  Generator generator(20240607);
  int refused = 0;
  constexpr int kCount = 1500;
  for (int i = 0; i < kCount; ++i) {
    const Sample sample = generator.expression(static_cast<int>(generator.below(5)));
    const Formula formula = Formula::parse(sample.text);
    if (sample.value) {
      ASSERT_EQ(formula.integer(test::MapScope()), static_cast<std::int64_t>(*sample.value)) << sample.text;
    } else {
      ++refused;
      ASSERT_THROW((void)formula.integer(test::MapScope()), DefinitionError) << sample.text;
    }
  }
  // Both outcomes occurred.
  EXPECT_GT(refused, kCount / 20);
  EXPECT_LT(refused, kCount * 19 / 20);
}

TEST(RandomFormulas, nonsense_is_refused_within_its_text_and_what_is_understood_is_understood_again) {
  Generator generator(42);
  const test::MapScope scope({{"m", Value(5)}, {"n", Value(0)}, {"act", Value("a")}, {"dtype", Value("f16")}});
  int understood = 0;
  for (int i = 0; i < 6000; ++i) {
    const std::string text = generator.nonsense();
    try {
      const Formula formula = Formula::parse(text);
      ++understood;
      EXPECT_EQ(Formula::parse(formula.canonical()).canonical(), formula.canonical()) << text;
      (void)formula.check({});
      (void)formula.evaluate(scope);
    } catch (const DefinitionError& error) {
      ASSERT_EQ(error.mistakes().size(), 1U);
      ASSERT_GE(error.mistakes()[0].column, 1) << text;
      ASSERT_LE(error.mistakes()[0].column, static_cast<int>(text.size()) + 1) << text;
    }
  }
  EXPECT_GT(understood, 150);
}

}  // namespace
}  // namespace tilewright::random_formulas_test
