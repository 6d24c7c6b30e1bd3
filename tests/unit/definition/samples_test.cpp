// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/samples.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/definition/helpers.hpp"

namespace tilewright::test {
namespace {

using ::testing::ElementsAre;

/// mini with a pitch for x.
std::string pitched(const std::string& sample) {
  const std::string toml = replaced(kMiniToml, "[\"rows\", \"cols\"] },", "[\"rows\", \"cols\"], pitch = \"p\" },");
  const std::string with =
      replaced(toml, "  { name = \"eps\"",
               "  { name = \"p\", role = \"scalar\", type = \"i64\", when = \"act == 'gelu'\" },\n  { name = \"eps\"");
  return replaced(replaced(with, ", alias = [\"x\"]", ""), "eps = 0.5 }", "eps = 0.5, p = " + sample + " }");
}

const std::string kSampleSource =
    replaced(kMiniSource, "mini_reference(const typename Config::dtype* x, double* y, float eps,",
             "mini_reference(const typename Config::dtype* x, double* y, long long p, float eps,");

OpDefinition load_op(const std::string& sample) {
  const TempFolder folder;
  return load_definition(folder.write_mini(pitched(sample), kSampleSource), {kernels_source_dir()});
}

std::vector<std::string> sample_mistakes(const std::string& sample) {
  const TempFolder folder;
  return mistakes_of(folder.write_mini(pitched(sample), kSampleSource));
}

TEST(Samples, of_scalars_are_numbers_or_formulas_of_the_problem) {
  const OpDefinition definition = load_op("\"round_up(cols, 64) + 64\"");
  const Problem problem = parse_problem("mini[act=gelu]{rows=4,cols=65}", definition.interface);
  EXPECT_EQ(scalar_sample(definition, "p", problem), SampleValue(std::int64_t{192}));
  EXPECT_EQ(scalar_sample(definition, "eps", problem), SampleValue(0.5));
  EXPECT_EQ(scalar_sample(definition, "other", problem), SampleValue(std::int64_t{0}));
}

TEST(Samples, of_scalars_are_values_of_their_types) {
  OpDefinition definition = load_op("\"round_up(cols, 64) + 64\"");
  const Problem problem = parse_problem("mini[act=gelu]{rows=4,cols=65}", definition.interface);
  std::ranges::find(definition.interface.args, "p", &Argument::name)->type = DType::i32;
  definition.samples.at("p").formula = Formula::parse("rows * 1000000000");
  try {
    static_cast<void>(scalar_sample(definition, "p", problem));
    FAIL() << "i32 ends below";
  } catch (const DefinitionError& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("the sample of 'p' has the value 4000000000, which i32 does not hold"));
  }
}

TEST(Samples, of_pitches_are_none_where_a_tensor_is_dense) {
  const OpDefinition definition = load_op("\"cols + rows\"");
  const auto pitches = [&](const char* key) {
    const Problem problem = parse_problem(key, definition.interface);
    std::vector<std::int64_t> first;
    for (const auto& steps : sample_strides(definition, problem, plan_args(definition.interface, problem))) {
      first.push_back(steps.empty() ? 0 : steps.at(0).stride);
    }
    return first;
  };
  EXPECT_THAT(pitches("mini[act=gelu]{rows=4,cols=65}"), ElementsAre(69, 0, 0, 0));
  EXPECT_THAT(pitches("mini[act=none]{rows=4,cols=65}"), ElementsAre(0, 0));
}

TEST(Samples, of_pitches_that_are_less_than_a_row_are_mistakes_of_the_definition) {
  EXPECT_THAT(
      sample_mistakes("\"cols - 1\""),
      ElementsAre("18:65: the sample of 'p', the pitch of 'x', is 0 for mini[dtype=f32,act=gelu]{rows=1,cols=1}, "
                  "less than a row's 1 elements"));
  EXPECT_THAT(sample_mistakes("512"),
              ElementsAre("18:64: the sample of 'p', the pitch of 'x', is 512 for "
                          "mini[dtype=f32,act=gelu]{rows=1001,cols=1001}, less than a row's 1001 elements"));
}

TEST(Samples, of_strides_place_rows_and_a_tensor_map_may_follow_them) {
  const TempFolder folder;
  std::string toml = replaced(pitched("\"cols + rows\""), "pitch = \"p\"", "strides = [\"p\"]");
  toml = replaced(toml, "box = [\"block\", 1]", "strides = [\"scalar:p\"], box = [\"block\", 1]");
  const OpDefinition definition = load_definition(folder.write_mini(toml, kSampleSource), {kernels_source_dir()});
  const TensorMapRecipe& map = definition.implementation("mapped").recipe.maps.at(0);
  EXPECT_THAT(map.stride_scalars, ElementsAre("p"));
  EXPECT_TRUE(map.strides.empty());
  const Problem problem = parse_problem("mini[act=gelu]{rows=4,cols=65}", definition.interface);
  const auto strides = sample_strides(definition, problem, plan_args(definition.interface, problem));
  ASSERT_EQ(strides.at(0).size(), 1U);
  EXPECT_EQ(strides[0][0].stride, 69);
  EXPECT_EQ(strides[0][0].extent, 4);
  for (const auto& [bytes, stride] : {std::pair(1, 69), {4, 69}, {8, 70}, {16, 76}, {64, 80}, {256, 192}}) {
    const std::vector<std::size_t> alignments(strides.size(), static_cast<std::size_t>(bytes));
    const auto raised = sample_strides(definition, problem, plan_args(definition.interface, problem), alignments);
    EXPECT_EQ(raised[0][0].stride, stride) << bytes;
  }
}

}  // namespace
}  // namespace tilewright::test
