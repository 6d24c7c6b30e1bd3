// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/op.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/unit/definition/helpers.hpp"
#include "tests/unit/definition/spoiled.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/definition/space.hpp"

namespace tilewright::test {
namespace {

using ::testing::Contains;

class OpMistake : public testing::TestWithParam<Spoiled> {};

TEST_P(OpMistake, is_the_one_reported) { expect_mistake(GetParam()); }

const Spoiled kSpoiledOps[] = {
    {"name_missing", "name = \"mini\"\n", "", "[op]", "[op] has no 'name'"},
    {"name_other_than_the_file", "\"mini\"", "\"maxi\"", "\"maxi\"",
     "the op is called 'maxi' and its file mini.toml: they must agree"},
    {"name_no_identifier", "\"mini\"", "\"mi-ni\"", "\"mi-ni\"",
     "op 'mi-ni' is not an identifier: letters, digits and _, no digit first"},
    {"unknown_key", "summary = ", "sumary = \"x\"\nsummary = ", "sumary",
     "unknown key 'sumary' in [op]; did you mean 'summary'?"},
    {"unknown_table", "[op]\n", "[opp]\n[op]\n", "opp", "unknown key 'opp' in the definition; did you mean 'op'?"},
    {"summary_of_another_type", "\"y = x\"", "7", "7", "'summary' in [op] must be a text, and is an integer"},
    {"dims_of_another_type", "dims = [\"rows\", \"cols\"]", "dims = \"rows\"", "\"rows\"",
     "'dims' in [op] must be a list, and is a text"},
    {"dim_that_is_a_word_of_cpp", "dims = [\"rows\"", "dims = [\"new\", \"rows\"", "\"new\"",
     "dim 'new' is a keyword of C++; choose another name"},
    {"dims_too_many", "dims = [\"rows\", \"cols\"]",
     "dims = [\"rows\", \"cols\", \"d3\", \"d4\", \"d5\", \"d6\", \"d7\", \"d8\", \"d9\"]", "[\"rows\"",
     "an op has at most 8 dims, and this has 9"},
    {"dims_empty", "dims = [\"rows\", \"cols\"]", "dims = []", "[]", "an op has at least one dim"},
    {"dtypes_empty", "dtypes = [\"f32\", \"bf16\"]", "dtypes = []", "[]", "an op has at least one dtype"},
    {"dim_twice", "dims = [\"rows\", \"cols\"]", "dims = [\"rows\", \"cols\", \"rows\"]", "\"rows\"]",
     "dim 'rows' appears twice"},
    {"dim_called_as_a_device_fact", "dims = [\"rows\"", "dims = [\"l2_bytes\", \"rows\"", "\"l2_bytes\"",
     "dim 'l2_bytes' clashes: that is a device fact in formulas; choose another name"},
    {"dtype_unknown", "dtypes = [\"f32\", \"bf16\"]", "dtypes = [\"f32\", \"bf16\", \"f17\"]", "\"f17\"",
     "'dtypes' in [op]: unknown type 'f17'; did you mean 'f16'?"},
    {"dtype_twice", "dtypes = [\"f32\", \"bf16\"]", "dtypes = [\"f32\", \"bf16\", \"f32\"]", "\"f32\"]",
     "dtype 'f32' appears twice"},
    {"attribute_called_as_a_dim", "attributes = { act", "attributes = { rows = [\"a\"], act", "rows",
     "attribute 'rows' clashes: there is a dim of that name"},
    {"attribute_without_values", "[\"none\", \"gelu\"] }", "[\"none\", \"gelu\"], b = [] }", "[] }",
     "attribute 'b' has no values; the first is its default"},
    {"attribute_value_twice", "[\"none\", \"gelu\"]", "[\"none\", \"gelu\", \"none\"]", "\"none\"]",
     "value 'none' of attribute 'act' appears twice"},
    {"attribute_value_that_no_key_holds", "[\"none\", \"gelu\"]", "[\"none\", \"gelu\", \"a,b\"]", "\"a,b\"",
     "attribute value 'a,b' must be 1 to 63 letters, digits, _ - . or +"},
    {"params_that_no_kernel_takes", "bytes = ", "params = [\"dim:rows\"]\nbytes = ", "params",
     "no kernel takes the 'params' of [op]: each lists its own"},
    {"bytes_with_an_unknown_name", "2 * rows * cols", "2 * rows * colz", "colz",
     "unknown name 'colz' in `2 * rows * colz * sizeof(dtype)`; did you mean 'cols'?"},
    {"bytes_with_a_parameter", "2 * rows * cols", "2 * sm_count * cols", "sm_count",
     "unknown name 'sm_count' in `2 * sm_count * cols * sizeof(dtype)`; only dims, attributes and dtype can be used "
     "here"},
    {"flops_that_do_not_parse", "\"rows * cols\"", "\"rows * * cols\"", "* cols",
     "expected a value, found '*' in `rows * * cols`"},
    {"flops_that_are_no_formula", "flops = \"rows * cols\"", "flops = []", "[]",
     "'flops' in [op] must be a formula in quotes, and is a list"},
    {"domain_that_is_no_list", "bytes = ", "domain = \"rows > 1\"\nbytes = ", "\"rows > 1\"",
     "'domain' in [op] must be a list, and is a text"},
    {"follows_of_another_type", "bytes = ", "follows = \"act\"\nbytes = ", "\"act\"",
     "'follows' in [op] must be a list, and is a text"},
    {"follows_what_is_no_attribute", "bytes = ", "follows = [\"acts\"]\nbytes = ", "\"acts\"",
     "'follows' in [op]: there is no attribute 'acts'; did you mean 'act'?"},
    {"learns_from_of_another_type", "bytes = ", "learns_from = \"gemm\"\nbytes = ", "\"gemm\"",
     "'learns_from' in [op] must be a list, and is a text"},
    {"learns_from_no_op", "bytes = ", "learns_from = [{ dims = { rows = \"m\", cols = \"n\" } }]\nbytes = ", "{ dims",
     "an item of 'learns_from' in [op] has no 'op'"},
    {"learns_from_dims_that_are_not_all",
     "bytes = ", "learns_from = [{ op = \"gemm\", dims = { rows = \"m\" } }]\nbytes = ", "{ rows = \"m\" }",
     "'dims' in an item of 'learns_from' in [op] lacks 'cols'"},
    {"learns_from_a_dim_that_it_has_not", "bytes = ",
     "learns_from = [{ op = \"gemm\", dims = { rows = \"m\", cols = \"n\", row = \"k\" } }]\nbytes = ", "row = \"k\"",
     "'dims' in an item of 'learns_from' in [op]: there is no dim 'row'; did you mean 'rows'?"},
    {"learns_from_when_no_formula_says", "bytes = ",
     "learns_from = [{ op = \"gemm\", when = \"m >\", dims = { rows = \"m\", cols = \"n\" } }]\nbytes = ", "\", dims",
     "expected a value, found the end in `m >`"},
    {"domain_with_an_unknown_name", "bytes = ", "domain = [\"row > 1\"]\nbytes = ", "row > 1",
     "unknown name 'row' in `row > 1`; did you mean 'rows'?"},
    {"domain_with_a_parameter", "bytes = ", "domain = [\"rows > sm_count\"]\nbytes = ", "sm_count",
     "unknown name 'sm_count' in `rows > sm_count`; only dims, attributes and dtype can be used here"},
    {"domain_that_holds_nothing", "bytes = ", "domain = [\"rows > 1\", \"rows < 2\"]\nbytes = ", "rows > 1",
     "no dims were found that are inside the domain for mini[dtype=f32,act=none]: each dim in turn was 1, and "
     "multiples "
     "of 2, 8, 16, 64 and 128 up to 256"},
    {"bucketed_that_is_no_dim", "dtypes = ", "bucketed = [\"row\"]\ndtypes = ", "\"row\"",
     "'bucketed' in [op]: the op has no dim 'row'; did you mean 'rows'?"},
    {"bucketed_of_another_type", "dtypes = ", "bucketed = \"rows\"\ndtypes = ", "\"rows\"",
     "'bucketed' in [op] must be a list, and is a text"},
    {"tensor_cores_by_a_dim", "flops = ", "tensor_cores = \"rows > 1\"\nflops = ", "rows > 1",
     "unknown name 'rows' in `rows > 1`; only attributes and dtype can be used here"},
};

TEST(Bucketed, dims_are_refused_where_a_plan_cannot_serve_a_whole_bucket) {
  const auto mistakes = [](std::string_view from, std::string_view to) {
    const TempFolder folder;
    return mistakes_of(folder.write_mini(replaced(kMiniToml, from, to), kMiniSource));
  };
  EXPECT_THAT(mistakes("dtypes = ", "bucketed = [\"cols\", \"cols\"]\ndtypes = "),
              Contains("5:21: dim 'cols' appears twice"));
  const auto of_cols = mistakes("dtypes = ", "bucketed = [\"cols\"]\ndomain = [\"cols > 0\"]\ndtypes = ");
  EXPECT_THAT(of_cols, Contains("6:12: the domain `cols > 0` is judged once for all extents of a bucket, and 'cols' is "
                                "bucketed: leave it out, or take 'cols' out of 'bucketed'"));
  EXPECT_THAT(of_cols, Contains("28:15: 'specialize' in implementation 'simple': 'cols' is bucketed: calls of one plan "
                                "have many values of it"));
  EXPECT_THAT(of_cols, Contains("52:31: 'dims' in tensor map 'x': 'cols' is bucketed, and a map of `cols` reads beyond "
                                "'x': write it alone, once, with strides of the call or as the last one"));
  EXPECT_THAT(
      mistakes("dtypes = [\"f32\", \"bf16\"]\nattributes = { act = [\"none\", \"gelu\"] }\nargs = [",
               "bucketed = [\"rows\"]\ndtypes = [\"f32\"]\nattributes = { act = [\"none\", \"gelu\"] }\nargs = [\n"
               "  { name = \"z\", role = \"in\", shape = [\"2 * rows\", \"cols\"], pitch = \"step\" },\n"
               "  { name = \"step\", role = \"scalar\", type = \"i64\" },"),
      Contains("9:40: the extent `2 * rows` of 'z', which has a pitch, is more than the bucketed dim 'rows': "
               "write \"rows\" alone, so that a launch can check it"));
}

TEST(LearnsFrom, of_built_in_ops_makes_configs_that_may_be_launched_of_most_of_the_teachers) {
  Catalogue catalogue({}, kernels_source_dir());
  DeviceFacts h200;
  h200.name = "NVIDIA H200";
  h200.compute_capability = 90;
  h200.sm_count = 132;
  h200.shared_per_block_optin = 227 * 1024;
  h200.shared_per_sm = 228 * 1024;
  h200.max_threads_per_sm = 2048;
  std::size_t learning = 0;
  for (const std::string& op : catalogue.names()) {
    const OpDefinition& definition = catalogue.find(op);
    for (const LearnsFrom& from : definition.learns_from) {
      ++learning;
      const OpDefinition& teacher = catalogue.find(from.op);
      const Problem problem =
          parse_problem(teacher.interface.op + "[dtype=bf16]{m=512,n=4096,k=4096}", teacher.interface);
      const ProblemScope scope(problem);
      ASSERT_TRUE(!from.when || from.when->truth(scope)) << op;
      std::vector<std::int64_t> dims;
      for (const Formula& dim : from.dims) dims.push_back(dim.integer(scope));
      const Problem mine =
          make_problem(parse_spec(op + "[dtype=bf16]", definition.interface), definition.interface, dims);
      std::set<std::string> legal;
      for (const Candidate& each : expand(definition, mine, h200).legal) legal.insert(each.config.text());
      std::size_t taught = 0, launchable = 0;
      for (const Candidate& each : expand(teacher, problem, h200).legal) {
        if (each.config.implementation != "wgmma") continue;
        Config config{each.config.implementation, {}};
        for (const std::string& name : definition.implementation("wgmma").recipe.parameters) {
          const auto value = std::ranges::find(each.config.values, name, [](const auto& pair) { return pair.first; });
          config.values.emplace_back(
              name, value != each.config.values.end() ? value->second : from.parameters.at(name).integer(scope));
        }
        ++taught;
        launchable += legal.contains(config.text()) ? 1 : 0;
      }
      EXPECT_GT(taught, 20U) << op;
      EXPECT_GT(2 * launchable, taught) << op;
    }
  }
  EXPECT_EQ(learning, 6U);
}

TEST(LearnsFrom, takes_formulas_over_names_of_the_op_that_teaches) {
  const TempFolder folder;
  const OpDefinition definition = load_definition(
      folder.write_mini(
          replaced(kMiniToml, "bytes = ",
                   "learns_from = [{ op = \"gemm\", when = \"layout == 'nt'\", dims = { cols = \"n / 2\", "
                   "rows = \"m\" }, parameters = { depth = \"k\" } }]\nbytes = "),
          kMiniSource),
      {kernels_source_dir()});
  ASSERT_EQ(definition.learns_from.size(), 1U);
  const auto& from = definition.learns_from[0];
  EXPECT_EQ(from.op, "gemm");
  EXPECT_EQ(from.when->text(), "layout == 'nt'");
  EXPECT_EQ(from.dims.at(0).text(), "m") << "in the order of the op's dims";
  EXPECT_EQ(from.dims.at(1).text(), "n / 2");
  EXPECT_EQ(from.parameters.at("depth").text(), "k");
}

INSTANTIATE_TEST_SUITE_P(Definition, OpMistake, testing::ValuesIn(kSpoiledOps), name_of);

}  // namespace
}  // namespace tilewright::test
