// SPDX-License-Identifier: Apache-2.0
#include "tuner/verify/inputs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "tuner/device/cpu_device.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

Argument argument(const char* name, ArgRole role, std::vector<const char*> shape, std::optional<DType> type = {}) {
  Argument made;
  made.name = name;
  made.role = role;
  made.type = type;
  for (const char* extent : shape) made.shape.push_back(Formula::parse(extent));
  return made;
}

// A definition without a kernel: input x, indices i, accumulator a (inout), output y (may be x), scalars eps and steps.
class Arguments : public ::testing::Test {
 protected:
  Arguments() {
    OpInterface& interface = definition_.interface;
    interface.op = "many";
    interface.dims = {"rows", "cols"};
    interface.dtypes = {DType::bf16};
    interface.args = {
        argument("x", ArgRole::in, {"rows", "cols"}),        argument("i", ArgRole::in, {"rows"}, DType::i32),
        argument("a", ArgRole::inout, {"cols"}, DType::f32), argument("y", ArgRole::out, {"rows", "cols"}),
        argument("eps", ArgRole::scalar, {}, DType::f32),    argument("steps", ArgRole::scalar, {}, DType::i64)};
    interface.args[3].alias = {"x"};
    definition_.samples = {
        {"x", {"normal", 3.0}}, {"i", {"uniform", 100.0}}, {"eps", {"value", 1e-5}}, {"steps", {"value", -4}}};
    problem_.spec.op = "many";
    problem_.spec.dtype = DType::bf16;
    problem_.dims = {{"rows", 50}, {"cols", 70}};
  }
  [[nodiscard]] ArgumentSet make(ArgumentSet::Options options = {}) {
    return {*device_, definition_, problem_, options};
  }

  std::unique_ptr<Device> device_ = open_cpu_device();
  OpDefinition definition_;
  Problem problem_;
};

TEST_F(Arguments, have_the_plans_order_and_bytes) {
  const ArgumentSet set = make();
  ASSERT_EQ(set.args().size(), 6u);
  EXPECT_EQ(set.args()[3].name, "y");
  EXPECT_EQ(set.bytes(), 2u * 50 * 70 * 2 + 50 * 4 + 70 * 4);
  EXPECT_EQ(set.layout(0).elements(), 3500);
  EXPECT_EQ(set.layout(0).gaps(), 0);
}

TEST_F(Arguments, scalars_have_their_values_in_their_types) {
  const ArgumentSet set = make();
  float eps = 0;
  std::memcpy(&eps, &set.values()[4], sizeof eps);
  EXPECT_EQ(eps, 1e-5f);
  EXPECT_EQ(static_cast<std::int64_t>(set.values()[5]), -4);
}

TEST_F(Arguments, inputs_are_random_with_the_spread_of_their_sample) {
  const ArgumentSet set = make();
  const auto x = set.read(0);
  double squares = 0;
  for (std::int64_t i = 0; i < 3500; ++i) {
    const double value = utility::read_element(x.data(), utility::kBf16, i);
    squares += value * value;
  }
  EXPECT_NEAR(std::sqrt(squares / 3500), 3.0, 0.15);
  const auto indices = set.read(1);
  double least = 1e9, most = -1e9;
  for (std::int64_t i = 0; i < 50; ++i) {
    const double value = utility::read_element(indices.data(), utility::kI32, i);
    least = std::min(least, value);
    most = std::max(most, value);
  }
  EXPECT_LT(least, -50);
  EXPECT_GT(most, 50);
  EXPECT_LE(most, 100);
}

TEST_F(Arguments, inputs_follow_from_the_seed) {
  EXPECT_EQ(make({.seed = 5}).read(0), make({.seed = 5}).read(0));
  EXPECT_NE(make({.seed = 5}).read(0), make({.seed = 6}).read(0));
  EXPECT_NE(make({.seed = 5}).fill_of(0).key, make({.seed = 5}).fill_of(1).key);
}

TEST_F(Arguments, are_shifted_by_whole_elements_when_asked) {
  const ArgumentSet set = make({.misalign_elements = 3});
  EXPECT_EQ(set.values()[0] % 256, 6u);
  EXPECT_EQ(set.values()[2] % 256, 12u);
  EXPECT_EQ(make().values()[0] % 256, 0u);
}

TEST_F(Arguments, outputs_are_poisoned_and_changed_inouts_restored) {
  ArgumentSet set = make();
  const auto a = set.read(2);
  device_->fill(set.values()[2], 0, 70 * 4);
  device_->fill(set.values()[3], 0, 50 * 70 * 2);
  set.poison_outputs();
  EXPECT_EQ(set.read(2), a);
  const auto y = set.read(3);
  EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](std::byte byte) { return byte == std::byte{0xff}; }));
  EXPECT_EQ(set.damage(), "");
}

TEST_F(Arguments, in_place_the_output_is_the_input_and_is_restored) {
  ArgumentSet set = make({.in_place = true});
  EXPECT_EQ(set.values()[3], set.values()[0]);
  const auto x = set.read(0);
  device_->fill(set.values()[3], 0, 50 * 70 * 2);
  EXPECT_EQ(set.damage(), "");
  set.poison_outputs();
  EXPECT_EQ(set.read(0), x);
}

TEST_F(Arguments, are_placed_so_that_each_allowed_pair_of_output_and_input_is_tried) {
  OpInterface& interface = definition_.interface;
  const auto places = [&] {
    std::vector<std::string> found;
    const std::size_t count = placements(plan_args(interface, problem_)).size();
    for (std::size_t i = 0; i < count; ++i) found.push_back(make({.in_place = true, .placement = i}).in_place());
    return found;
  };
  EXPECT_THAT(places(), testing::ElementsAre("y = x"));
  // An input of another type and one of another shape.
  interface.args.insert(interface.args.begin() + 1, argument("w", ArgRole::in, {"rows", "cols"}, DType::f32));
  interface.args.insert(interface.args.begin() + 1, argument("v", ArgRole::in, {"cols", "rows"}));
  interface.args.insert(interface.args.begin() + 1, argument("b", ArgRole::in, {"rows", "cols"}));
  interface.args[6].alias = {"x", "b", "v", "w"};
  EXPECT_THAT(places(), testing::ElementsAre("y = x", "y = b"));
  // As in norms that also store the sum.
  interface.args.push_back(argument("z", ArgRole::out, {"rows", "cols"}));
  interface.args.back().alias = {"b", "x"};
  EXPECT_THAT(places(), testing::ElementsAre("y = x, z = b", "y = b, z = x"));
  interface.args[6].alias = {"x"};
  EXPECT_THAT(places(), testing::ElementsAre("y = x, z = b", "z = x"));
  interface.args[6].alias = interface.args.back().alias = {};
  EXPECT_THAT(places(), testing::ElementsAre());
  EXPECT_EQ(make({.in_place = true}).in_place(), "");
}

TEST_F(Arguments, a_changed_input_is_named_from_the_first_poisoning_on) {
  ArgumentSet set = make();
  set.poison_outputs();
  device_->fill(set.values()[1] + 4 * 17, 0x11, 4);
  EXPECT_THAT(set.damage(), HasSubstr("it changed its input i: i[17] was "));
  EXPECT_THAT(set.damage(), HasSubstr("and is 286331153"));
  set.repair();
  EXPECT_EQ(set.damage(), "");
}

TEST_F(Arguments, a_write_into_any_guard_is_named) {
  ArgumentSet set = make({.misalign_elements = 1});
  set.poison_outputs();
  device_->fill(set.values()[3] + 50 * 70 * 2 + ArgumentSet::kGuardBytes - 1, 0, 1);
  EXPECT_EQ(set.damage(), "it wrote past the end of y: 1 bytes, the first 4095 bytes behind it");
  set.repair();
  device_->fill(set.values()[2] - 1, 0, 1);
  EXPECT_EQ(set.damage(), "it wrote before the start of a: 1 bytes, the last 1 bytes before it");
  device_->fill(set.values()[0] - 4, 0, 2);
  EXPECT_THAT(set.damage(), HasSubstr("before the start of x: 2 bytes, the last 3 bytes before it; it wrote"));
  set.repair();
  EXPECT_EQ(set.damage(), "");
}

TEST_F(Arguments, stand_where_a_config_asks_for_with_what_they_held) {
  ArgumentSet set = make();
  std::vector<PlannedArg> args = set.args();
  for (const std::size_t alignment : {16, 64, 8, 256, 4}) {
    const std::vector<std::byte> x = set.read(0), i = set.read(1);
    for (PlannedArg& arg : args) arg.alignment = alignment;
    set.place(args);
    set.poison_outputs();
    for (const std::size_t arg : {0, 1, 2, 3}) {
      EXPECT_EQ(set.values()[arg] % alignment, 0U);
      EXPECT_EQ(set.values()[arg] % 256, alignment % 256) << "and no multiple of more";
    }
    EXPECT_EQ(set.read(0), x);
    EXPECT_EQ(set.read(1), i);
    EXPECT_EQ(set.damage(), "");
  }
  device_->fill(set.values()[0] - 4, 0, 2);
  EXPECT_THAT(set.damage(), HasSubstr("before the start of x: 2 bytes, the last 3 bytes before it"));
}

// x and y of Arguments with rows padded by 8 and 12 elements.
class PitchedArguments : public Arguments {
 protected:
  PitchedArguments() {
    OpInterface& interface = definition_.interface;
    interface.args[0].pitch = "x_pitch";
    interface.args[3].pitch = "y_pitch";
    for (const char* name : {"x_pitch", "y_pitch"}) {
      interface.args.push_back(argument(name, ArgRole::scalar, {}, DType::i64));
    }
    definition_.samples["x_pitch"] = {"value", 0, Formula::parse("cols + 8")};
    definition_.samples["y_pitch"] = {"value", 82};
  }
  [[nodiscard]] bool is_poison(const std::vector<std::byte>& bytes, std::size_t element) const {
    return utility::is_poison(bytes.data(), utility::kBf16, static_cast<std::int64_t>(element));
  }
};

TEST_F(PitchedArguments, have_room_for_every_row_but_no_gap_behind_the_last) {
  const ArgumentSet set = make();
  EXPECT_EQ(set.values()[6], 78U);
  EXPECT_EQ(set.values()[7], 82U);
  EXPECT_EQ(set.layout(0).span(), 49 * 78 + 70);
  EXPECT_EQ(set.layout(0).elements(), 50 * 70);
  EXPECT_EQ(set.layout(0).gaps(), 49 * 8);
  EXPECT_EQ(set.tensor(3).bytes, (49U * 82 + 70) * 2);
  EXPECT_EQ(set.bytes(), (49U * 78 + 70 + 49 * 82 + 70) * 2 + 50 * 4 + 70 * 4);
}

TEST_F(PitchedArguments, have_pitches_of_the_alignment_that_is_asked_for_and_no_more) {
  const ArgumentSet set = make({.stride_alignments = {8, 0, 0, 2, 0, 0, 0, 0}});
  EXPECT_EQ(set.values()[6], 84U) << "from 78 elements of 2 bytes on, 8 bytes are 4";
  EXPECT_EQ(set.values()[7], 83U);
  EXPECT_EQ(set.layout(0).span(), 49 * 84 + 70);
  const ArgumentSet in_place = make({.in_place = true, .stride_alignments = {2, 0, 0, 16, 0, 0, 0, 0}});
  EXPECT_EQ(in_place.values()[6], 88U);
  EXPECT_EQ(in_place.values()[7], 88U);
}

TEST_F(PitchedArguments, inputs_are_random_between_rows_too) {
  const auto x = make().read(0);
  for (std::size_t i = 0; i < 49 * 78 + 70; ++i) EXPECT_FALSE(is_poison(x, i)) << i;
}

TEST_F(PitchedArguments, in_place_have_the_inputs_pitch_and_poison_between_rows) {
  ArgumentSet set = make({.in_place = true});
  EXPECT_EQ(set.in_place(), "y = x");
  EXPECT_EQ(set.values()[3], set.values()[0]);
  EXPECT_EQ(set.values()[7], 78U);
  EXPECT_EQ(set.layout(3).steps().at(0).stride, 78);
  device_->fill(set.values()[0], 0, set.tensor(0).bytes);
  set.poison_outputs();
  const auto x = set.read(0);
  for (std::size_t i = 0; i < 49 * 78 + 70; ++i) EXPECT_EQ(is_poison(x, i), i % 78 >= 70) << i;
}

TEST_F(PitchedArguments, a_changed_gap_of_an_input_is_named) {
  ArgumentSet set = make();
  set.poison_outputs();
  device_->fill(set.values()[0] + (3 * 78 + 75) * 2, 0x11, 2);
  EXPECT_THAT(set.damage(), HasSubstr("it changed its input x: what lies between the rows behind x[3][69] was "));
  set.repair();
  EXPECT_EQ(set.damage(), "");
}

TEST_F(PitchedArguments, with_a_pitch_below_a_row_are_refused) {
  definition_.samples["y_pitch"] = {"value", 69};
  try {
    (void)make();
    FAIL() << "rows that overlap were made";
  } catch (const DefinitionError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the sample of 'y_pitch', the pitch of 'y', is 69 for "));
    EXPECT_THAT(error.what(), HasSubstr("less than a row's 70 elements"));
  }
}

TEST_F(PitchedArguments, with_a_pitch_beyond_all_memory_are_refused) {
  definition_.samples["y_pitch"] = {"value", 0, Formula::parse("4611686018427387904")};
  EXPECT_THROW((void)make(), UsageError);
}

Sample formula_sample(const char* value, std::vector<std::string> index, const char* where = nullptr) {
  Sample sample{"formula", 1.0, Formula::parse(value)};
  sample.index = std::move(index);
  if (where != nullptr) sample.where = Formula::parse(where);
  return sample;
}

TEST_F(PitchedArguments, by_a_formula_have_its_values_and_are_random_elsewhere) {
  definition_.samples["x"] = formula_sample("8 * i - c + steps + draw", {"i", "c"}, "c >= cols - 2 or i == 3");
  definition_.samples["x"].scale = 0.5;
  const ArgumentSet random = [&] {
    OpDefinition without = definition_;
    without.samples.erase("x");
    return ArgumentSet(*device_, without, problem_, {.seed = 2});
  }();
  const auto x = make({.seed = 2}).read(0), before = random.read(0);
  for (std::int64_t offset = 0; offset < 49 * 78 + 70; ++offset) {
    const std::int64_t i = offset / 78, c = offset % 78;
    const double value = utility::read_element(x.data(), utility::kBf16, offset);
    if (c < 70 && (c >= 68 || i == 3)) {
      EXPECT_EQ(value, utility::bf16_to_float(utility::float_to_bf16(static_cast<float>(8 * i - c - 4 + 2) / 2)))
          << i << ", " << c;
    } else {
      EXPECT_EQ(value, utility::read_element(before.data(), utility::kBf16, offset)) << i << ", " << c;
    }
  }
}

TEST_F(PitchedArguments, with_poisoned_gaps_hold_nothing_else_there) {
  const auto x = make({.poison_gaps = true}).read(0);
  for (std::size_t i = 0; i < 49 * 78 + 70; ++i) EXPECT_EQ(is_poison(x, i), i % 78 >= 70) << i;
}

TEST_F(PitchedArguments, by_a_formula_are_put_back_as_they_were_and_a_changed_one_is_named) {
  definition_.samples["x"] = formula_sample("i + c", {"i", "c"});
  ArgumentSet set = make({.poison_gaps = true});
  const auto x = set.read(0);
  set.poison_outputs();
  device_->fill(set.values()[0] + (3 * 78 + 4) * 2, 0, 2);
  EXPECT_EQ(set.damage(), "it changed its input x: x[3][4] was 7 and is 0");
  set.repair();
  EXPECT_EQ(set.damage(), "");
  EXPECT_EQ(set.read(0), x);

  ArgumentSet in_place = make({.in_place = true});
  device_->fill(in_place.values()[0], 0, in_place.tensor(0).bytes);
  in_place.poison_outputs();
  EXPECT_EQ(in_place.read(0), x) << "between whose rows there is poison, too";
}

TEST_F(Arguments, of_whole_numbers_hold_every_number_of_their_type_exactly) {
  definition_.interface.args[1].type = DType::i64;
  definition_.samples["i"] = formula_sample("9007199254740993 + i2", {"i2"});
  const auto i = make().read(1);
  std::int64_t last = 0;
  std::memcpy(&last, i.data() + 49 * 8, 8);
  EXPECT_EQ(last, 9007199254740993 + 49);
}

TEST_F(Arguments, whose_formula_has_no_value_somewhere_are_refused_with_the_reason) {
  const auto mistake = [&](const char* value) -> std::string {
    definition_.samples["i"] = formula_sample(value, {"row"});
    try {
      (void)make();
    } catch (const DefinitionError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(mistake("100 / (row - 17)"), HasSubstr("division by zero"));
  EXPECT_THAT(mistake("row * 100000000"),
              HasSubstr("the sample of i[22] has the value 2200000000, which i32 does not"));
}

TEST_F(Arguments, of_a_range_that_has_no_number_are_refused) {
  Sample range{"range"};
  range.to = Formula::parse("cols - 70");
  definition_.samples["i"] = range;
  try {
    (void)make();
    FAIL() << "numbers were found between 0 and 0";
  } catch (const DefinitionError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the sample of 'i' is a range from 0 to 0, and there is no number in it"));
  }
}

TEST_F(Arguments, of_more_whole_numbers_than_63_bits_count_are_refused) {
  definition_.interface.args[1].type = DType::i64;
  const auto mistake = [&](const char* fill, const char* from, const char* to) -> std::string {
    Sample sample{fill};
    sample.from = Formula::parse(from);
    sample.to = Formula::parse(to);
    definition_.samples["i"] = sample;
    try {
      (void)make();
    } catch (const DefinitionError& error) {
      return error.what();
    }
    return {};
  };
  const auto complaint = HasSubstr("of more than 2^63-1 numbers");
  EXPECT_THAT(mistake("range", "-4611686018427387904", "4611686018427387904"), complaint);
  EXPECT_THAT(mistake("prefix", "0", "9223372036854775807"), complaint);
  EXPECT_EQ(mistake("range", "-4611686018427387904", "4611686018427387903"), "");
}

TEST_F(Arguments, that_another_op_makes_need_its_reference) {
  Sample made{"made"};
  made.made = MadeInput{std::make_shared<const OpDefinition>(definition_), "y"};
  definition_.samples["x"] = made;
  EXPECT_THROW((void)make(), UsageError);
}

TEST_F(Arguments, too_large_for_memory_is_a_device_error_that_names_the_argument) {
  problem_.dims = {{"rows", std::int64_t{1} << 30}, {"cols", std::int64_t{1} << 24}};
  try {
    (void)make();
    FAIL() << "allocated more than there is";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("argument x"));
  }
}

TEST(ElementName, counts_the_last_extent_fastest) {
  PlannedArg arg;
  arg.name = "y";
  arg.shape = {2, 3, 4};
  EXPECT_EQ(element_name(arg, 0), "y[0][0][0]");
  EXPECT_EQ(element_name(arg, 23), "y[1][2][3]");
  arg.shape = {10};
  EXPECT_EQ(element_name(arg, 7), "y[7]");
}

}  // namespace
}  // namespace tilewright
