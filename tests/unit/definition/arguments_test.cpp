// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/arguments.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "tests/unit/definition/helpers.hpp"
#include "tests/unit/definition/spoiled.hpp"

namespace tilewright::test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;

class ArgumentMistake : public testing::TestWithParam<Spoiled> {};

TEST_P(ArgumentMistake, is_the_one_reported) { expect_mistake(GetParam()); }

/// 62 more arguments: 65 in all.
std::string too_many() {
  std::string args = "args = [\n";
  for (int i = 0; i < 62; ++i) {
    const std::string name = "x" + std::to_string(i);
    args += "  { name = \"" + name + "\", role = \"in\", type = \"dtype\", shape = [\"rows\"] },\n";
  }
  return args;
}

const std::string kTooMany = too_many();

const Spoiled kSpoiled[] = {
    {"role_unknown", "role = \"out\"", "role = \"output\"", "\"output\"",
     "unknown role 'output'; known: in, out, inout, scalar"},
    {"role_missing", "{ name = \"x\", role = \"in\", ", "{ name = \"x\", ", "{ name", "argument 'x' has no 'role'"},
    {"shape_missing", "type = \"dtype\", shape = [\"rows\", \"cols\"] },", "type = \"dtype\" },", "{ name = \"x\"",
     "argument 'x' has no 'shape'"},
    {"shape_with_an_unknown_name", "shape = [\"rows\", \"cols\"]", "shape = [\"rows\", \"2 * colz\"]", "colz",
     "unknown name 'colz' in `2 * colz`; did you mean 'cols'?"},
    {"type_unknown", "type = \"f32\"", "type = \"fp32\"", "\"fp32\"",
     "'type' in argument 'eps': unknown type 'fp32'; did you mean 'f32'?"},
    {"align_no_power_of_two", "[\"rows\", \"cols\"] }", "[\"rows\", \"cols\"], align = 6 }", "6 }",
     "'align' in argument 'x' must be a power of two from 1 to 1024: elements, not bytes"},
    {"scalar_with_a_shape", "type = \"f32\", when", "type = \"f32\", shape = [\"1\"], when", "[\"1\"]",
     "'shape' in argument 'eps': a scalar has none"},
    {"when_with_a_dim", "when = \"act == 'gelu'\"", "when = \"rows > 1\"", "rows",
     "unknown name 'rows' in `rows > 1`; only attributes and dtype can be used here"},
    {"when_with_no_value_of_the_attribute", "act == 'gelu'", "act == 'gelo'", "'gelo'",
     "'act' is never 'gelo' in `act == 'gelo'`; did you mean 'gelu'?"},
    {"alias_of_nothing", "alias = [\"x\"]", "alias = [\"xx\"]", "\"xx\"",
     "'y' cannot alias 'xx': there is no such argument; did you mean 'x'?"},
    {"alias_of_itself", "alias = [\"x\"]", "alias = [\"y\"]", "\"y\"",
     "'y' cannot alias 'y': only an argument with role \"in\" can be aliased"},
    {"alias_of_another_shape", "shape = [\"rows\", \"cols\"] },", "shape = [\"cols\", \"rows\"] },", "\"x\"]",
     "'y' cannot alias 'x': their shapes differ"},
    {"alias_of_another_type", "\"dtype\", shape", "\"f32\", shape", "\"x\"]",
     "'y' cannot alias 'x': their types differ"},
    {"nothing_written", "role = \"out\", type = \"dtype\", shape = [\"rows\", \"cols\"], alias = [\"x\"]",
     "role = \"in\", type = \"dtype\", shape = [\"rows\", \"cols\"]", "[\n",
     "no argument has role \"out\" or \"inout\": the op computes nothing"},
    {"alias_on_an_input", "shape = [\"rows\", \"cols\"] },", "shape = [\"rows\", \"cols\"], alias = [\"y\"] },",
     "\"y\"", "'x' has role \"in\": only an \"out\" argument may alias an input"},
    {"pitch_of_nothing", "alias = [\"x\"]", "pitch = \"epz\"", "\"epz\"",
     "the pitch of 'y' is 'epz', and there is no such argument; did you mean 'eps'?"},
    {"pitch_that_is_a_tensor", "alias = [\"x\"]", "pitch = \"x\"", "\"x\"",
     "the pitch of 'y' is 'x', which is not a scalar of type i64"},
    {"pitch_of_another_type", "alias = [\"x\"]", "pitch = \"eps\"", "\"eps\"",
     "the pitch of 'y' is 'eps', which is not a scalar of type i64"},
    {"pitch_of_a_vector", "[\"rows\", \"cols\"], alias = [\"x\"]", "[\"rows\"], pitch = \"eps\"", "\"eps\"",
     "'pitch' in argument 'y': a tensor with one extent has no rows"},
    {"pitch_of_a_scalar", "type = \"f32\", when", "type = \"f32\", pitch = \"n\", when", "\"n\"",
     "'pitch' in argument 'eps': a scalar has none"},
    {"pitch_that_is_a_number", "alias = [\"x\"]", "pitch = 8", "8",
     "'pitch' in argument 'y' must be a text, and is an integer"},
    {"name_twice", "name = \"y\"", "name = \"x\"", "\"x\"", "argument 'x' appears twice"},
    {"name_no_identifier", "name = \"eps\"", "name = \"e-ps\"", "\"e-ps\"",
     "argument 'e-ps' is not an identifier: letters, digits and _, no digit first"},
    {"strides_of_nothing", "alias = [\"x\"]", "strides = [\"epz\"]", "\"epz\"",
     "a stride of 'y' is 'epz', and there is no such argument; did you mean 'eps'?"},
    {"strides_that_are_tensors", "alias = [\"x\"]", "strides = [\"x\"]", "\"x\"",
     "a stride of 'y' is 'x', which is not a scalar of type i64"},
    {"strides_of_another_type", "alias = [\"x\"]", "strides = [\"eps\"]", "\"eps\"",
     "a stride of 'y' is 'eps', which is not a scalar of type i64"},
    {"strides_too_many", "alias = [\"x\"]", "strides = [\"eps\", \"eps\"]", "[\"eps\"",
     "'strides' in argument 'y' are 2; a tensor with 2 extents has 1: one for each but the last"},
    {"strides_and_a_pitch", "alias = [\"x\"]", "pitch = \"eps\", strides = [\"eps\"]", "[\"eps\"",
     "'strides' in argument 'y': the tensor has a pitch; it is one or the other"},
    {"strides_that_are_a_text", "alias = [\"x\"]", "strides = \"eps\"", "\"eps\"",
     "'strides' in argument 'y' must be a list, and is a text"},
    {"strides_of_a_scalar", "type = \"f32\", when", "type = \"f32\", strides = [\"n\"], when", "[\"n\"]",
     "'strides' in argument 'eps': a scalar has none"},
    {"more_than_a_launch_can_have", "args = [\n", kTooMany.c_str(), "[\n",
     "an op has at most 64 arguments, and this has 65"},
    {"unknown_key", "alias = [\"x\"]", "aliases = [\"x\"]", "aliases",
     "unknown key 'aliases' in argument 'y'; did you mean 'alias'?"},
};

INSTANTIATE_TEST_SUITE_P(Definition, ArgumentMistake, testing::ValuesIn(kSpoiled), name_of);

TEST(Alias, has_the_pitch_and_the_strides_of_what_it_aliases) {
  const auto mistakes_with = [](std::string_view scalars) {
    std::string toml = replaced(kMiniToml, "alias = [\"x\"]", fmt::format("alias = [\"x\"], {}", scalars));
    toml = replaced(toml, "name = \"eps\", role = \"scalar\", type = \"f32\"",
                    "name = \"eps\", role = \"scalar\", type = \"i64\"");
    const TempFolder folder;
    return mistakes_of(folder.write_mini(replaced(toml, "eps = 0.5", "eps = 4"), kMiniSource));
  };
  EXPECT_THAT(mistakes_with("pitch = \"eps\""),
              ElementsAre(EndsWith("'y' cannot alias 'x': only one of them has a pitch")));
  EXPECT_THAT(mistakes_with("strides = [\"eps\"]"),
              ElementsAre(EndsWith("'y' cannot alias 'x': only one of them has strides")));
}

}  // namespace
}  // namespace tilewright::test
