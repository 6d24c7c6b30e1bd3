// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/costs.hpp"

#include <gmock/gmock.h>

#include "tests/unit/definition/helpers.hpp"

namespace tilewright::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// An op with sequence lengths by a formula, and tokens of 2 bytes.
OpDefinition ragged(const std::string& length, const std::string& bytes) {
  OpDefinition op;
  op.interface.op = "ragged";
  op.interface.dims = {"batch", "most"};
  op.interface.dtypes = {DType::bf16};
  Argument lengths;
  lengths.name = "lengths";
  lengths.type = DType::i32;
  lengths.shape = {Formula::parse("batch")};
  op.interface.args = {lengths};
  op.samples["lengths"] = {.fill = "formula", .formula = Formula::parse(length), .index = {"n"}};
  op.bytes = Formula::parse(bytes);
  op.flops = Formula::parse("batch");
  return op;
}

std::int64_t bytes(const OpDefinition& op, std::int64_t batch, std::int64_t most) {
  return op.bytes_of({{"ragged", DType::bf16, {}}, {{"batch", batch}, {"most", most}}});
}

TEST(Costs, sum_what_inputs_hold) {
  EXPECT_EQ(bytes(ragged("n + 1", "2 * lengths + batch"), 4, 100), 2 * 10 + 4);
  EXPECT_EQ(bytes(ragged("select(n == 0, most, 1)", "lengths * lengths"), 5, 100), 104 * 104);
}

TEST(Costs, are_the_mean_over_the_draws) {
  OpDefinition op = ragged("select(draw % 3 == 1, most, draw)", "lengths");
  op.draws = 3;
  EXPECT_EQ(bytes(op, 4, 100), 4 * (100 + 2 + 3) / 3);
}

TEST(Costs, of_many_elements_are_those_of_some) {
  EXPECT_EQ(bytes(ragged("most", "lengths"), std::int64_t{1} << 40, 3), std::int64_t{3} << 40);
  const double of_some = static_cast<double>(bytes(ragged("n % 1000", "lengths"), 1'000'000, 1));
  EXPECT_NEAR(of_some, 499.5e6, 10e6);
}

TEST(Costs, of_many_elements_keep_fractions_and_meet_all_places_of_a_period) {
  constexpr std::int64_t kCount = std::int64_t{1} << 20;
  EXPECT_EQ(bytes(ragged("n % 2", "lengths"), kCount, 1), kCount / 2);
  EXPECT_EQ(bytes(ragged("select(n % 256 == 0, most, 0)", "lengths"), kCount, 3), 3 * kCount / 256);
  const double rising = static_cast<double>(bytes(ragged("n", "lengths"), kCount, 1));
  EXPECT_NEAR(rising / (0.5 * kCount * kCount), 1, 0.01);
}

TEST(Costs, beyond_63_bits_are_an_error) {
  EXPECT_THROW((void)bytes(ragged("most", "lengths"), std::int64_t{1} << 40, std::int64_t{1} << 40), DefinitionError);
}

TEST(Costs, sum_only_what_a_formula_alone_fills) {
  const auto mistakes = [](const std::string& sample) {
    const TempFolder folder;
    std::string toml = replaced(kMiniToml, "args = [\n",
                                "draws = 2\nargs = [\n  { name = \"picks\", role = \"in\", type = "
                                "\"i32\", shape = [\"rows\"] },\n");
    toml = replaced(toml, "eps = 0.5 }", "eps = 0.5" + sample + " }");
    toml = replaced(toml, "flops = \"rows * cols\"", "flops = \"picks * cols\"");
    return mistakes_of(folder.write_mini(toml, kMiniSource));
  };
  const auto complaint = HasSubstr(
      "`picks * cols` sums the elements of 'picks', which no formula alone fills: write "
      "[op.sample.picks] with 'index' and 'value', and no 'where'");
  EXPECT_THAT(mistakes(", picks = { fill = \"range\", to = 7 }"), Contains(complaint));
  EXPECT_THAT(mistakes(", picks = { index = [\"i\"], value = \"draw\" }"), testing::Not(Contains(complaint)));
}

TEST(Costs, have_1_to_16_draws) {
  const TempFolder folder;
  EXPECT_THAT(mistakes_of(folder.write_mini(replaced(kMiniToml, "args = [\n", "draws = 17\nargs = [\n"), kMiniSource)),
              Contains(HasSubstr("'draws' in [op] must be 1 to 16")));
}

TEST(Costs, have_draws_by_number_or_by_name) {
  const TempFolder folder;
  const auto written = [&](const std::string& draws) {
    return folder.write_mini(replaced(kMiniToml, "args = [\n", "draws = " + draws + "\nargs = [\n"), kMiniSource);
  };
  const OpDefinition named = load_definition(written(R"(["full", "any"])"), {kernels_source_dir()});
  EXPECT_EQ(named.draws, 2);
  EXPECT_THAT(named.draw_names, testing::ElementsAre("full", "any"));
  const OpDefinition numbered = load_definition(written("2"), {kernels_source_dir()});
  EXPECT_EQ(numbered.draws, 2);
  EXPECT_THAT(numbered.draw_names, testing::IsEmpty());
  EXPECT_EQ(named.interface.hash(), numbered.interface.hash());
  EXPECT_THAT(mistakes_of(written("[]")), Contains(HasSubstr("'draws' in [op] must be 1 to 16")));
  EXPECT_THAT(mistakes_of(written("[1, 2]")), Contains(HasSubstr("'draws' in [op]")));
  EXPECT_THAT(mistakes_of(written("\"two\"")), Contains(HasSubstr("'draws' in [op]")));
}

}  // namespace
}  // namespace tilewright::test
