// SPDX-License-Identifier: Apache-2.0
#include "cache/model/formula/formula.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/model/formula/formula_helpers.hpp"

namespace tilewright::formula_test {
namespace {

using test::MapScope;
using test::mistake_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Formula, is_zero_when_nothing_was_written) {
  EXPECT_EQ(Formula().text(), "0");
  EXPECT_EQ(Formula().integer(MapScope()), 0);
  EXPECT_EQ(Formula().place().line, 0);
}

TEST(Formula, keeps_its_text_and_place) {
  const Formula formula = Formula::parse("  rows*cols ", {"softmax.toml", 7, 11});
  EXPECT_EQ(formula.text(), "  rows*cols ");
  EXPECT_EQ(formula.canonical(), "rows * cols");
  EXPECT_EQ(formula.place().file, "softmax.toml");
  EXPECT_EQ(formula.place().line, 7);
  EXPECT_EQ(formula.place().column, 11);
}

TEST(Formula, reports_the_place_of_a_mistake_in_the_file) {
  const Diagnostic parsing = mistake_of([] { (void)Formula::parse("rows +", {"softmax.toml", 7, 11}); });
  EXPECT_EQ(parsing.text(), "softmax.toml:7:17: expected a value, found the end in `rows +`");
  const Formula formula = Formula::parse("rows / zero", {"softmax.toml", 7, 11});
  const Diagnostic evaluating = mistake_of([&] {
    (void)formula.integer(MapScope({{"rows", Value(4)}, {"zero", Value(0)}}));
  });
  EXPECT_EQ(evaluating.text(), "softmax.toml:7:16: division by zero in `rows / zero`");
}

TEST(Formula, reports_the_column_of_an_unknown_name) {
  const Formula formula = Formula::parse("cols % vek == 0", {"softmax.toml", 20, 5});
  const Diagnostic mistake = mistake_of([&] {
    (void)formula.truth(MapScope({{"cols", Value(8)}, {"vec", Value(4)}}));
  });
  EXPECT_EQ(mistake.text(), "softmax.toml:20:12: unknown name 'vek' in `cols % vek == 0`; did you mean 'vec'?");
}

TEST(Formula, evaluates_to_a_number_or_to_text) {
  const MapScope scope({{"act", Value("gelu")}, {"m", Value(3)}});
  EXPECT_EQ(Formula::parse("m + 1").evaluate(scope), Value(4));
  EXPECT_EQ(Formula::parse("act").evaluate(scope), Value("gelu"));
  EXPECT_EQ(Formula::parse("select(m == 3, act, m)").evaluate(scope), Value("gelu"));
  EXPECT_THROW((void)Formula::parse("act").integer(scope), DefinitionError);
  EXPECT_THROW((void)Formula::parse("act").truth(scope), DefinitionError);
}

TEST(Formula, is_true_for_every_number_but_zero) {
  EXPECT_TRUE(Formula::parse("true").truth(MapScope()));
  EXPECT_TRUE(Formula::parse("-5").truth(MapScope()));
  EXPECT_FALSE(Formula::parse("false").truth(MapScope()));
  EXPECT_FALSE(Formula::parse("5 - 5").truth(MapScope()));
}

TEST(Formula, lists_each_name_once_in_order_of_appearance) {
  EXPECT_THAT(Formula::parse("b * min(a, b) + sizeof(dtype) + sizeof(f32) - c").names(), ElementsAre("b", "a", "c"));
  EXPECT_THAT(Formula::parse("act == 'none' and true").names(), ElementsAre("act"));
  EXPECT_THAT(Formula::parse("1 + 2").names(), IsEmpty());
}

TEST(Formula, equals_another_of_the_same_text_wherever_it_stands) {
  EXPECT_EQ(Formula::parse("a + 1"), Formula::parse("a + 1", {"x.toml", 3, 4}));
  EXPECT_NE(Formula::parse("a + 1"), Formula::parse("a + 2"));
}

TEST(Formula, may_be_evaluated_by_several_threads) {
  const Formula formula = Formula::parse("ceil_div(cols, vec) * (act == 'gelu')");
  const MapScope scope({{"cols", Value(1001)}, {"vec", Value(8)}, {"act", Value("gelu")}});
  std::vector<std::int64_t> sums(4, 0);
  {
    std::vector<std::jthread> threads;
    for (std::int64_t& sum : sums) {
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) sum += Formula(formula).integer(scope);
      });
    }
  }
  EXPECT_THAT(sums, ElementsAre(25200, 25200, 25200, 25200));
}

}  // namespace
}  // namespace tilewright::formula_test
