// SPDX-License-Identifier: Apache-2.0
// Samples of tensors other than random numbers, further samples, and their possible mistakes.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/definition/helpers.hpp"
#include "tuner/definition/samples.hpp"

namespace tilewright::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// mini with an integer input and a scalar that formulas may use.
std::string toml_with(const std::string& sample, const std::string& more = "") {
  const std::string args = replaced(kMiniToml, "  { name = \"y\"",
                                    "  { name = \"table\", role = \"in\", type = \"i32\", shape = [\"rows\"] },\n"
                                    "  { name = \"ignore\", role = \"scalar\", type = \"i64\" },\n  { name = \"y\"");
  const std::string first = replaced(args, "sample = { x = { fill = \"uniform\", scale = 2 }, eps = 0.5 }",
                                     "sample = { eps = 0.5, ignore = -3" + sample + " }");
  return replaced(first, "\n[[implementation]]", more + "\n[[implementation]]");
}

const std::string kSource =
    replaced(kMiniSource, "mini_reference(const typename Config::dtype* x, double* y, float eps,",
             "mini_reference(const typename Config::dtype* x, const int* table, long long "
             "ignore, double* y, float eps,");

OpDefinition load_kind(const std::string& sample, const std::string& more = "") {
  const TempFolder folder;
  return load_definition(folder.write_mini(toml_with(sample, more), kSource), {kernels_source_dir()});
}

/// The mistakes' texts, without places.
std::vector<std::string> mistakes(const std::string& sample, const std::string& more = "") {
  const TempFolder folder;
  std::vector<std::string> found = mistakes_of(folder.write_mini(toml_with(sample, more), kSource));
  for (std::string& mistake : found) mistake = mistake.substr(mistake.find(": ") + 2);
  return found;
}

TEST(SampleKinds, by_a_formula_have_its_lets_in_place_and_know_dims_attributes_and_whole_scalars) {
  const OpDefinition definition = load_kind(
      ", x = { index = [\"i\", \"j\"], let = { near = \"i - ignore\" }, value = \"near * draw + j\", where = "
      "\"act == 'gelu' or j < cols\", scale = -0.5 }");
  const Sample& sample = definition.samples.at("x");
  EXPECT_EQ(sample.fill, "formula");
  EXPECT_EQ(sample.scale, -0.5);
  EXPECT_THAT(sample.index, ElementsAre("i", "j"));
  const Problem problem = parse_problem("mini{rows=4,cols=5}", definition.interface);
  SampleScope scope(definition, problem, 2);
  const std::vector<std::int64_t> place{3, 4};
  scope.set_indices(sample.index, place);
  EXPECT_EQ(sample.formula->integer(scope), (3 + 3) * 2 + 4);
  EXPECT_TRUE(sample.where->truth(scope));
}

TEST(SampleKinds, of_whole_numbers_have_bounds_for_each_problem) {
  const OpDefinition definition = load_kind(
      ", table = { fill = \"range\", from = \"ignore + 4\", to = \"rows * cols + 1\", sometimes = \"ignore\" }");
  const Problem problem = parse_problem("mini{rows=4,cols=5}", definition.interface);
  const PlannedArg arg = plan_args(definition.interface, problem).at(1);
  const WholeBounds bounds = whole_bounds(definition.samples.at("table"), arg, SampleScope(definition, problem, 1));
  EXPECT_EQ(bounds.from, 1);
  EXPECT_EQ(bounds.to, 21);
  EXPECT_EQ(bounds.sometimes, -3);
}

TEST(SampleKinds, that_come_further_say_what_differs_from_the_first) {
  const OpDefinition definition = load_kind(", table = { fill = \"permutation\", to = \"rows\" }",
                                            "[op.samples.large]\nx = { fill = \"normal\", scale = 100 }\nignore = 7\n"
                                            "[op.samples.sorted]\ntable = { index = [\"i\"], value = \"i\" }\n");
  ASSERT_EQ(definition.more_samples.size(), 2U);
  EXPECT_EQ(definition.more_samples[0].name, "large");
  const Samples& large = definition.more_samples[0].samples;
  EXPECT_EQ(large.at("x").scale, 100);
  EXPECT_EQ(large.at("table").fill, "permutation");
  EXPECT_EQ(large.at("eps").scale, 0.5);
  const Samples& sorted = definition.more_samples[1].samples;
  EXPECT_FALSE(sorted.contains("x"));
  EXPECT_EQ(sorted.at("table").fill, "formula");
  const Problem problem = parse_problem("mini{rows=4,cols=5}", definition.interface);
  EXPECT_EQ(scalar_sample(with_samples(definition, 1), "ignore", problem), SampleValue(std::int64_t{7}));
  EXPECT_EQ(scalar_sample(with_samples(definition, 2), "ignore", problem), SampleValue(std::int64_t{-3}));
}

TEST(SampleKinds, belong_to_no_hash) {
  const OpDefinition plain = load_kind(""),
                     sampled = load_kind(", table = { fill = \"permutation\", to = \"rows\" }",
                                         "[op.samples.large]\nx = { fill = \"normal\", scale = 100 }\n");
  EXPECT_EQ(plain.interface.hash(), sampled.interface.hash());
  EXPECT_EQ(plain.implementations[0].hash, sampled.implementations[0].hash);
}

TEST(SampleKinds, of_another_data_version_retire_what_was_measured) {
  const TempFolder folder;
  const auto written = [&](const std::string& version) {
    return folder.write_mini(replaced(kMiniToml, "args = [\n", version + "args = [\n"), kMiniSource);
  };
  const OpDefinition first = load_definition(written(""), {kernels_source_dir()});
  const std::filesystem::path second_file = written("data_version = 2\n");
  const OpDefinition second = load_definition(second_file, {kernels_source_dir()});
  EXPECT_EQ(first.interface.hash(), second.interface.hash());
  EXPECT_NE(first.implementations[0].hash, second.implementations[0].hash);
  EXPECT_EQ(implementation_hashes(second_file, {kernels_source_dir()}).front(), second.implementations[0].hash);
  const OpDefinition third = load_definition(written("data_version = 3\n"), {kernels_source_dir()});
  EXPECT_NE(second.implementations[0].hash, third.implementations[0].hash);
  EXPECT_THAT(mistakes_of(written("data_version = 1\n")),
              ElementsAre(HasSubstr("'data_version' in [op] must be 2 or more: it is 1 where it is not written")));
}

struct Wrong {
  const char* name;
  const char* sample;
  const char* more;
  const char* message;
};
void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.name; }

class WrongSample : public testing::TestWithParam<Wrong> {};

TEST_P(WrongSample, is_the_mistake_reported) {
  EXPECT_THAT(mistakes(GetParam().sample, GetParam().more), ElementsAre(HasSubstr(GetParam().message)));
}

const Wrong kWrong[] = {
    {"value_without_index", ", x = { value = \"1\" }", "", "the sample of 'x' has no 'index'"},
    {"index_without_value", ", x = { index = [\"i\", \"j\"] }", "", "the sample of 'x' has no 'value'"},
    {"too_few_indices", ", x = { index = [\"i\"], value = \"i\" }", "",
     "'index' in the sample of 'x' must name the 2 indices of 'x', and names 1"},
    {"index_of_a_dims_name", ", x = { index = [\"rows\", \"j\"], value = \"j\" }", "",
     "index 'rows' clashes: there is a dim of that name"},
    {"index_of_a_scalars_name", ", table = { index = [\"ignore\"], value = \"0\" }", "",
     "index 'ignore' clashes: there is a scalar, or `draw`, of that name"},
    {"index_twice", ", x = { index = [\"i\", \"i\"], value = \"0\" }", "", "index 'i' appears twice"},
    {"unknown_name_in_a_value", ", x = { index = [\"i\", \"j\"], value = \"i + colz\" }", "",
     "unknown name 'colz' in `i + colz`; did you mean 'cols'?"},
    {"a_device_fact_in_a_value", ", x = { index = [\"i\", \"j\"], value = \"i + sm_count\" }", "",
     "unknown name 'sm_count' in `i + sm_count`; only dims, attributes and dtype can be used here"},
    {"a_device_fact_in_a_let", ", x = { index = [\"i\", \"j\"], let = { k = \"sm_count\" }, value = \"i + k\" }", "",
     "unknown name 'sm_count'"},
    {"a_let_that_nothing_uses", ", x = { index = [\"i\", \"j\"], let = { k = \"j\" }, value = \"i\" }", "",
     "let 'k' is used nowhere in the sample of 'x'"},
    {"a_real_scalar_in_a_value", ", x = { index = [\"i\", \"j\"], value = \"i + eps\" }", "",
     "unknown name 'eps' in `i + eps`; known: dtype, act, rows, cols, ignore, draw, i, j"},
    {"fill_beside_a_value", ", x = { index = [\"i\", \"j\"], value = \"i\", fill = \"normal\" }", "",
     "unknown key 'fill' in the sample of 'x'; known: index, let, value, where, scale"},
    {"a_fraction_of_a_whole_scalar", "", "[op.samples.half]\nignore = 2.5\n",
     "the sample of the scalar 'ignore' must be a whole number, as 'ignore' is i64"},
    {"no_number_of_a_whole_scalar", "", "[op.samples.none]\nignore = nan\n",
     "the sample of the scalar 'ignore' must be a whole number, as 'ignore' is i64"},
    {"scale_of_whole_numbers", ", table = { index = [\"i\"], value = \"i\", scale = 2 }", "",
     "'table' is of whole numbers: multiply in 'value'"},
    {"scale_of_zero", ", x = { index = [\"i\", \"j\"], value = \"i\", scale = 0 }", "",
     "'scale' in the sample of 'x' must be a number other than 0"},
    {"value_that_divides_by_zero", ", x = { index = [\"i\", \"j\"], value = \"8 / (rows - 1 - i)\" }", "",
     "division by zero in `8 / (rows - 1 - i)`"},
    {"value_that_the_type_does_not_hold", ", table = { index = [\"i\"], value = \"i * 1000000000\" }", "",
     "the sample of 'table' has the value 1000000000000, which i32 does not hold (i=1000)"},
    {"range_without_an_end", ", table = { fill = \"range\" }", "", "the sample of 'table' has no 'to'"},
    {"range_of_reals", ", x = { fill = \"range\", to = \"rows\" }", "",
     "a range is of whole numbers, and 'x' is dtype, which is not always one of them"},
    {"range_that_is_empty", ", table = { fill = \"range\", from = 3, to = \"rows\" }", "",
     "the sample of 'table' is a range from 3 to 1, and there is no number in it (rows=1)"},
    {"range_beyond_its_type", ", table = { fill = \"range\", to = \"rows * 10000000\" }", "",
     "the sample of 'table' has the value 10009999999, which i32 does not hold (rows=1001)"},
    {"prefix_with_another_start", ", table = { fill = \"prefix\", from = 1, to = \"rows\" }", "",
     "unknown key 'from' in the sample of 'table'; known: fill, to"},
    {"permutation_with_a_scale", ", table = { fill = \"permutation\", to = \"rows\", scale = 2 }", "",
     "unknown key 'scale' in the sample of 'table'; known: fill, to"},
    {"further_sample_of_nothing", "", "[op.samples.large]\nz = 1\n",
     "unknown key 'z' in [op.samples.large]; known: x, table, ignore, eps"},
    {"further_sample_that_says_nothing", "", "[op.samples.large]\n",
     "[op.samples.large] is empty, so it repeats [op.sample]"},
    {"further_sample_with_a_wrong_tensor", "", "[op.samples.large]\nx = { fill = \"normel\" }\n",
     "unknown fill 'normel'; did you mean 'normal'?"},
    {"further_sample_that_breaks_a_formula", "",
     "[op.samples.large]\ntable = { index = [\"i\"], value = \"1 / ignore\" }\nignore = 0\n",
     "division by zero in `1 / ignore`"},
    {"made_by_no_op", ", x = { op = \"sofmax\", output = \"y\" }", "", "there is no op 'sofmax' in "},
    {"made_output_unknown", ", x = { op = \"softmax\", output = \"z\" }", "", "softmax has no output 'z'; known: y"},
    {"made_without_an_output", ", x = { op = \"softmax\" }", "", "the sample of 'x' has no 'output'"},
    {"made_of_another_type", ", table = { op = \"copy\", output = \"y\", dims = { n = \"rows\" } }", "",
     "'y' of copy has the type dtype, but 'table' has i32"},
    {"made_with_an_unknown_attribute", ", x = { op = \"softmax\", output = \"y\", attributes = { pich = \"dense\" } }",
     "", "softmax has no attribute 'pich'; did you mean 'pitch'?"},
    {"made_with_an_unknown_value", ", x = { op = \"softmax\", output = \"y\", attributes = { pitch = \"dens\" } }", "",
     "attribute 'pitch' of softmax has no value 'dens'; did you mean 'dense'?"},
    {"made_with_another_shape", ", x = { op = \"softmax\", output = \"y\", dims = { cols = \"cols + 1\" } }", "",
     "the sample of 'x' for mini[dtype=f32,act=none]{rows=1,cols=1} has 1×1 elements, and 'y' of "
     "softmax[dtype=f32,pitch=dense]{rows=1,cols=2} has 1×2"},
};

TEST(SampleKinds, made_by_an_op_that_does_not_fit_are_mistakes_that_say_all_of_it) {
  EXPECT_THAT(mistakes(", x = { op = \"activation\", output = \"y\", attributes = { act = \"gelu\" } }"),
              ElementsAre("attribute 'act' of activation takes this op's value, but cannot be 'none'",
                          "this op has no dim 'n', which activation has: give its value, as in dims = { n = \"rows\" }",
                          "attribute 'act' of activation takes this op's value; leave it out here"));
}

TEST(SampleKinds, made_by_another_op_have_its_dims_and_attributes) {
  const OpDefinition definition =
      load_kind(", x = { op = \"softmax\", output = \"y\", attributes = { pitch = \"strided\" } }");
  const Problem problem = parse_problem("mini[dtype=bf16,act=gelu]{rows=4,cols=5}", definition.interface);
  const auto made = made_inputs_of(definition);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(problem_of(*made[0], plan_args(definition.interface, problem).at(0), problem).key(),
            "softmax[dtype=bf16,pitch=strided]{rows=4,cols=5}");
}

TEST(SampleKinds, made_by_an_op_whose_own_are_made_are_refused) {
  const TempFolder folder;
  const std::string made = ", x = { op = \"softmax\", output = \"y\" }";
  folder.write_mini(toml_with(made), kSource);
  std::string outer = toml_with(", x = { op = \"mini\", output = \"y\" }");
  outer = replaced(outer, "name = \"mini\"", "name = \"maxi\"");
  const auto file = folder.write("maxi/maxi.toml", outer);
  folder.write("maxi/mini.cu", kSource);
  try {
    (void)load_definition(file, {kernels_source_dir()});
    FAIL() << "an op was found at the second step";
  } catch (const DefinitionError& error) {
    EXPECT_THAT(error.what(), HasSubstr("an input made by 'softmax' of an op that makes inputs of another"));
  }
}

INSTANTIATE_TEST_SUITE_P(Definition, WrongSample, testing::ValuesIn(kWrong),
                         [](const auto& wrong) { return std::string(wrong.param.name); });

}  // namespace
}  // namespace tilewright::test
