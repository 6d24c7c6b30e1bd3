// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/mistakes.hpp"

#include <gmock/gmock.h>

namespace tilewright::reading {
namespace {

TEST(Mistakes, are_thrown_all_at_once_in_the_order_of_the_file) {
  Mistakes mistakes("f.toml");
  mistakes.add({3, 1}, "c");
  mistakes.add({1, 9}, "b");
  mistakes.add_aside({1, 2}, "a");
  try {
    mistakes.throw_if_any();
    FAIL() << "nothing thrown";
  } catch (const DefinitionError& error) {
    EXPECT_STREQ(error.what(), "f.toml:1:2: a\nf.toml:1:9: b\nf.toml:3:1: c");
  }
}

TEST(Mistakes, of_a_formula_that_is_evaluated_again_are_one) {
  Mistakes mistakes("f.toml");
  mistakes.add(DefinitionError({{"f.toml", 2, 5, "1 / 0"}}));
  mistakes.add(DefinitionError({{"f.toml", 2, 5, "2 / 0"}, {"f.toml", 2, 7, "x"}}));
  try {
    mistakes.throw_if_any();
    FAIL() << "nothing thrown";
  } catch (const DefinitionError& error) {
    EXPECT_THAT(error.mistakes(), testing::SizeIs(2));
  }
}

TEST(Mistakes, that_leave_a_part_usable_are_not_counted_against_it) {
  Mistakes mistakes("f.toml");
  mistakes.add_aside({1, 1}, "a");
  EXPECT_EQ(mistakes.unusable(), 0U);
  mistakes.add({1, 1}, "b");
  EXPECT_EQ(mistakes.unusable(), 1U);
}

TEST(Mistakes, that_are_none_throw_nothing) { EXPECT_NO_THROW(Mistakes("f.toml").throw_if_any()); }

}  // namespace
}  // namespace tilewright::reading
