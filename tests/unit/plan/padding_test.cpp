// SPDX-License-Identifier: Apache-2.0
#include "cache/plan/padding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright::padding_test {
namespace {

using ::testing::HasSubstr;

const Config kConfig = Config::parse("tiled{block_m=32,vec=8}");

Problem gemm(std::int64_t m, std::int64_t n) {
  return make_problem(parse_spec("gemm", test::gemm()), test::gemm(), std::vector<std::int64_t>{m, n, 4096});
}

double padding(const Problem& problem, std::map<std::string, Formula> covers) {
  ImplementationRecipe recipe;
  recipe.covers = std::move(covers);
  return padding_of(recipe, kConfig, problem, emulator_facts());
}

TEST(Padding, is_what_whole_blocks_cover_over_what_is_asked) {
  const Formula block = Formula::parse("block_m");
  EXPECT_DOUBLE_EQ(padding(gemm(64, 100), {{"m", block}}), 1);
  EXPECT_DOUBLE_EQ(padding(gemm(4, 100), {{"m", block}}), 8);
  EXPECT_DOUBLE_EQ(padding(gemm(33, 100), {{"m", block}}), 64.0 / 33);
  EXPECT_DOUBLE_EQ(padding(gemm(4, 100), {{"m", block}, {"n", Formula::parse("vec * 16")}}), 8 * 1.28);
  EXPECT_DOUBLE_EQ(padding(gemm(4, 100), {{"m", Formula::parse("round_up(m, 3)")}}), 1.5)
      << "a cover may fit the shape";
  EXPECT_DOUBLE_EQ(padding(gemm(4, 100), {}), 1) << "nothing is said of it";
}

TEST(Padding, of_a_cover_that_covers_nothing_is_a_mistake_of_the_definition) {
  const std::string said = test::error_of<DefinitionError>([] {
    (void)padding(gemm(4, 100), {{"m", Formula::parse("vec - block_m", {"gemm.toml", 7, 3})}});
  });
  EXPECT_THAT(said, HasSubstr("gemm.toml:7:3"));
  EXPECT_THAT(said, HasSubstr("a block of tiled{block_m=32,vec=8} covers -24 of m in gemm["));
  EXPECT_THAT(test::error_of<DefinitionError>([] {
                (void)padding(gemm(4, 100), {{"m", Formula::parse("vec - 8")}});
              }),
              HasSubstr("covers 0 of m in gemm["));
}

TEST(Padding, is_a_logarithm_at_any_shape_of_the_spec_and_none_where_it_has_no_value) {
  ImplementationRecipe known, broken;
  known.covers.emplace("m", Formula::parse("block_m"));
  broken.covers.emplace("m", Formula::parse("block_m / (m - 5)"));
  const DeviceFacts device = emulator_facts();
  const LogPadding log = log_padding(
      [&](const std::string& hash) -> const ImplementationRecipe& { return hash == "known" ? known : broken; },
      gemm(1, 1), device);
  EXPECT_DOUBLE_EQ(log({"known", kConfig}, std::vector<std::int64_t>{4, 1, 1}), std::log(8));
  EXPECT_DOUBLE_EQ(log({"known", kConfig}, std::vector<std::int64_t>{64, 1, 1}), 0);
  EXPECT_DOUBLE_EQ(log({"broken", kConfig}, std::vector<std::int64_t>{5, 1, 1}), 0);
  EXPECT_DOUBLE_EQ(log({"broken", kConfig}, std::vector<std::int64_t>{6, 1, 1}), std::log(32.0 / 6));
}

}  // namespace
}  // namespace tilewright::padding_test
