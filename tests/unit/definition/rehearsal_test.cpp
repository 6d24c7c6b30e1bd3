// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/rehearsal.hpp"

#include <gmock/gmock.h>

#include "tests/unit/definition/helpers.hpp"
#include "tests/unit/definition/spoiled.hpp"

namespace tilewright::test {
namespace {

class BaseMistake : public testing::TestWithParam<Spoiled> {};

TEST_P(BaseMistake, is_the_one_reported) { expect_mistake(GetParam()); }

const Spoiled kSpoiledRehearsals[] = {
    {"missing", "base = \"simple{num_warps=4,static_dims=0}\"\n", "", "[op]", "[op] has no 'base'"},
    {"not_a_config", "{num_warps=4,static_dims=0}", "{num_warps=4", "simple{",
     "the base is not a config of this op: config 'simple{num_warps=4', column 19: expected ','; separate pairs with "
     "',', and write '}' after the last one"},
    {"of_an_unknown_implementation", "\"simple{", "\"simpel{", "simpel",
     "the base is not a config of this op: mini has no implementation 'simpel'; did you mean 'simple'?"},
    {"not_complete", "{num_warps=4,static_dims=0}", "{static_dims=0}", "simple{",
     "the base is not a config of this op: simple{static_dims=0} has no value for 'num_warps'; its values: 1, 4"},
    {"with_an_unknown_parameter", "{num_warps=4,", "{num_wraps=4,", "simple{",
     "the base is not a config of this op: simple has no parameter 'num_wraps'; did you mean 'num_warps'?"},
    {"not_of_the_space", "{num_warps=4,", "{num_warps=3,", "simple{",
     "the base is not a config of this op: num_warps=3 is not in the space of simple; its values: 1, 4"},
    {"specialised", "static_dims=0}", "static_dims=1}", "simple{",
     "the base must have static_dims=0: it serves dims that nobody tuned"},
    {"with_a_constraint_that_odd_widths_break", "constraints = [", "constraints = [\"cols % 2 == 0\", ", "simple{num",
     "the base must serve every problem on every GPU from sm_80 on, and simple{num_warps=4,static_dims=0} cannot serve "
     "mini[dtype=f32,act=none]{rows=1,cols=1}: constraint "
     "`cols % 2 == 0` is false (cols=1)"},
    {"with_a_constraint_that_one_attribute_breaks", "constraints = [", "constraints = [\"act == 'none'\", ",
     "simple{num",
     "the base must serve every problem on every GPU from sm_80 on, and simple{num_warps=4,static_dims=0} cannot serve "
     "mini[dtype=f32,act=gelu]{rows=1,cols=1}: constraint "
     "`act == 'none'` is false (act=gelu)"},
    {"with_a_constraint_that_one_dtype_breaks", "constraints = [", "constraints = [\"sizeof(dtype) == 4\", ",
     "simple{num",
     "the base must serve every problem on every GPU from sm_80 on, and simple{num_warps=4,static_dims=0} cannot serve "
     "mini[dtype=bf16,act=none]{rows=1,cols=1}: constraint "
     "`sizeof(dtype) == 4` is false"},
    {"with_a_grid_that_huge_dims_break", "\"min(rows, resident_blocks)\"", "\"rows\"", "simple{num",
     "the base must serve every problem on every GPU from sm_80 on, and simple{num_warps=4,static_dims=0} cannot serve "
     "mini[dtype=f32,act=none]{rows=8589934591,cols=1}: the grid "
     "of mini_simple in x is 8589934591, not 1 to 2147483647 (rows=8589934591)"},
    {"that_needs_a_new_architecture", "requires = \"sm_80\"", "requires = \"sm_90\"", "simple{num",
     "the base must serve every problem on every GPU from sm_80 on, and simple{num_warps=4,static_dims=0} cannot serve "
     "mini[dtype=f32,act=none]{rows=1,cols=1}: needs sm_90; the "
     "device is sm_80"},
    {"that_needs_much_shared_memory", "\"num_warps * 4\"", "\"200 * 1024\"", "simple{num",
     "the base must serve every problem on every GPU from sm_80 on, and simple{num_warps=4,static_dims=0} cannot serve "
     "mini[dtype=f32,act=none]{rows=1,cols=1}: the shared memory "
     "of mini_simple is 204800 bytes, not 0 to 101376"},
    {"that_needs_alignment", "align = { x = \"sizeof(dtype)\" }", "align = { x = 16 }", "simple{num",
     "the base must serve every problem on every GPU from sm_80 on, and simple{num_warps=4,static_dims=0} cannot serve "
     "mini[dtype=f32,act=none]{rows=1,cols=1}: it needs 'x' at a "
     "multiple of 16 bytes, and callers give 4"},
};

INSTANTIATE_TEST_SUITE_P(Definition, BaseMistake, testing::ValuesIn(kSpoiledRehearsals), name_of);

class RehearsalMistake : public testing::TestWithParam<Spoiled> {};

TEST_P(RehearsalMistake, is_the_one_reported) { expect_mistake(GetParam()); }

const Spoiled kFails[] = {
    {"division_by_zero_for_one_value", "\"map:x\", \"ptr:y\"]\ngrid = [\"min(rows, 1024)\"]",
     "\"map:x\", \"ptr:y\"]\ngrid = [\"rows / (block - 64) + 2\"]", "/ (block",
     "division by zero in `rows / (block - 64) + 2`"},
    {"overflow_in_the_base", "\"rows * 4\"", "\"rows * 4611686018427387904\"", "* 4611686018427387904",
     "3 * 4611686018427387904 overflows 64 bits in `rows * 4611686018427387904`"},
};

INSTANTIATE_TEST_SUITE_P(Definition, RehearsalMistake, testing::ValuesIn(kFails), name_of);

/// The mistakes of an op whose base has `constraint`, in a domain of multiples of four.
std::vector<std::string> in_a_domain(const std::string& constraint) {
  const TempFolder folder;
  std::string toml = replaced(kMiniToml, "bytes = ", "domain = [\"cols % 4 == 0\"]\nbytes = ");
  toml = replaced(toml, "constraints = [", "constraints = [\"" + constraint + "\", ");
  return mistakes_of(folder.write_mini(toml, kMiniSource));
}

TEST(Base, is_probed_inside_the_domain_alone) {
  EXPECT_THAT(in_a_domain("cols % 4 == 0"), testing::IsEmpty());
  EXPECT_THAT(in_a_domain("cols % 8 == 0"), testing::ElementsAre(testing::HasSubstr(
                                                "cannot serve mini[dtype=f32,act=none]{rows=3,cols=4}: constraint "
                                                "`cols % 8 == 0` is false (cols=4)")));
}

TEST(Base, formulas_are_rehearsed_inside_the_domain_alone) {
  EXPECT_THAT(in_a_domain("1 / (cols / 4) >= 0"), testing::IsEmpty()) << "no division by zero: cols is never 1";
}

}  // namespace
}  // namespace tilewright::test
