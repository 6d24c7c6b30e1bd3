// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "tests/unit/definition/helpers.hpp"

namespace tilewright::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kOne = "{ f32 = [1e-6, 1e-5], bf16 = [1e-4, 1e-2] }";

class ToleranceTables : public testing::Test {
 protected:
  std::filesystem::path write(std::string_view tolerance) const {
    return folder_.write_mini(replaced(kMiniToml, kOne, tolerance), kMiniSource);
  }
  OpDefinition load(std::string_view tolerance) const {
    return load_definition(write(tolerance), {kernels_source_dir()});
  }
  static double relative(const OpDefinition& definition, const char* spec, DType output) {
    const Problem problem = parse_problem(std::string(spec) + "{rows=1,cols=1}", definition.interface);
    return definition.tolerance_of(problem, output).relative;
  }

  const TempFolder folder_;
};

TEST_F(ToleranceTables, count_from_the_first_whose_condition_holds_and_which_has_the_type) {
  const OpDefinition mini = load(
      "[ { when = \"act == 'gelu'\", f32 = [1e-3, 2e-3] }, { when = \"dtype == 'bf16'\", bf16 = [0, 0.5] }, "
      "{ f32 = [1e-6, 1e-5] } ]");
  EXPECT_EQ(relative(mini, "mini[dtype=f32]", DType::f32), 1e-5);
  EXPECT_EQ(relative(mini, "mini[dtype=f32,act=gelu]", DType::f32), 2e-3);
  EXPECT_EQ(relative(mini, "mini[dtype=bf16,act=gelu]", DType::bf16), 0.5);
}

TEST_F(ToleranceTables, of_an_output_of_another_type_are_its_own_or_else_the_ops) {
  const OpDefinition mini = load("[ { when = \"act == 'gelu'\", f32 = [1e-3, 2e-3] }, " + std::string(kOne) + " ]");
  EXPECT_EQ(relative(mini, "mini[dtype=bf16]", DType::f32), 1e-5);
  EXPECT_EQ(relative(mini, "mini[dtype=bf16,act=gelu]", DType::f32), 2e-3);
  EXPECT_EQ(relative(mini, "mini[dtype=bf16]", DType::f16), 1e-2);
}

TEST_F(ToleranceTables, of_an_argument_come_before_those_of_its_type_and_may_have_a_norm) {
  const OpDefinition mini = load(
      "[ { when = \"act == 'gelu'\", y = [1e-3, 0.25, 0.125] }, { y = [0, 0.5], f32 = [1e-6, 1e-5], bf16 = [1e-4, "
      "1e-2, "
      "0.75] } ]");
  const Problem none = parse_problem("mini[dtype=bf16]{rows=1,cols=1}", mini.interface);
  const Problem gelu = parse_problem("mini[dtype=bf16,act=gelu]{rows=1,cols=1}", mini.interface);
  EXPECT_EQ(mini.tolerance_of(gelu, DType::bf16, "y").relative, 0.25);
  EXPECT_EQ(mini.tolerance_of(gelu, DType::bf16, "y").norm, 0.125);
  EXPECT_EQ(mini.tolerance_of(none, DType::bf16, "y").relative, 0.5);
  EXPECT_EQ(mini.tolerance_of(none, DType::bf16, "y").norm, std::nullopt);
  EXPECT_EQ(mini.tolerance_of(none, DType::bf16, "z").norm, 0.75);
}

TEST_F(ToleranceTables, are_of_outputs_alone) {
  EXPECT_THAT(mistakes_of(write("{ f32 = [0, 0], bf16 = [0, 0], x = [0, 0] }")),
              ElementsAre(HasSubstr("unknown key 'x' in 'tolerance' in [op]")));
  EXPECT_THAT(
      mistakes_of(write("{ f32 = [0, 0], bf16 = [0, 0], y = [0] }")),
      ElementsAre(HasSubstr("'y' in 'tolerance' in [op] must be [absolute, relative] or [absolute, relative, norm]")));
  EXPECT_THAT(mistakes_of(write("{ f32 = [0, 0], bf16 = [0, 0], y = [0, 0, -1] }")),
              ElementsAre(HasSubstr("must hold numbers that are 0 or more")));
}

TEST_F(ToleranceTables, must_cover_every_dtype_whatever_the_attributes_are) {
  EXPECT_THAT(mistakes_of(write("[ { when = \"act == 'gelu'\", f32 = [0, 0] }, { bf16 = [0, 0] } ]")),
              ElementsAre(HasSubstr("16:13: 'tolerance' in [op] has no tolerance for 'f32' where act is 'none'")));
  EXPECT_THAT(mistakes_of(write("[ { f32 = [0, 0] } ]")),
              ElementsAre(HasSubstr(": 'tolerance' in [op] has no tolerance for 'bf16'")));
  EXPECT_THAT(mistakes_of(write("[]")),
              ElementsAre(HasSubstr("has no tolerance for 'f32'"), HasSubstr("has no tolerance for 'bf16'")));
}

TEST_F(ToleranceTables, that_never_count_are_mistakes) {
  EXPECT_THAT(
      mistakes_of(write("[ " + std::string(kOne) + ", { when = \"act == 'gelu'\", f32 = [0, 0] } ]")),
      ElementsAre(HasSubstr(
          ":60: this table of 'tolerance' in [op] is never used: for each of its cases a table above it applies")));
}

TEST_F(ToleranceTables, are_read_as_strictly_as_all_else) {
  const std::string rest = ", " + std::string(kOne) + " ]";
  EXPECT_THAT(mistakes_of(write("[ { when = \"rows > 5\", f32 = [0, 0] }" + rest)),
              ElementsAre(HasSubstr("unknown name 'rows' in `rows > 5`; only attributes and dtype can be used here")));
  EXPECT_THAT(mistakes_of(write("[ { when = \"act == 'glu'\", f32 = [0, 0] }" + rest)),
              ElementsAre(HasSubstr("'glu'")));
  EXPECT_THAT(mistakes_of(write("[ { when = \"true\", f16 = [0, 0] }" + rest)),
              ElementsAre(HasSubstr("this table of 'tolerance' in [op] is never used"),
                          HasSubstr("unknown key 'f16' in a table of 'tolerance' in [op]")));
  EXPECT_THAT(mistakes_of(write("[ 1e-3" + rest)),
              ElementsAre(HasSubstr("a table of 'tolerance' in [op] must be a table, and is a number")));
  EXPECT_THAT(mistakes_of(write("1e-3")),
              ElementsAre(HasSubstr("'tolerance' in [op] must be a table, and is a number")));
}

TEST(SampledReference, is_for_outputs_of_which_a_left_out_element_can_be_told) {
  const TempFolder folder;
  const std::string sampled = replaced(kMiniToml, "\"mini_reference\" }", "\"mini_reference\", sampled = true }");
  const auto load = [&](std::string_view toml) { return folder.write_mini(toml, kMiniSource); };
  EXPECT_TRUE(load_definition(load(sampled), {kernels_source_dir()}).reference.sampled);
  EXPECT_FALSE(load_definition(load(kMiniToml), {kernels_source_dir()}).reference.sampled);
  EXPECT_THAT(
      mistakes_of(load(replaced(sampled, "role = \"out\", type = \"dtype\"", "role = \"out\", type = \"i32\""))),
      testing::Contains(HasSubstr("15:71: the reference of an op cannot be sampled where an output holds whole "
                                  "numbers, as 'y' does")));
  EXPECT_THAT(mistakes_of(load(replaced(replaced(sampled, ", alias = [\"x\"]", ""), "\"out\"", "\"inout\""))),
              ElementsAre(HasSubstr("an output starts from an input's values, as 'y' does")));
}

}  // namespace
}  // namespace tilewright::test
