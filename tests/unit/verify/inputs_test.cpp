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
  EXPECT_EQ(set.elements(0), 3500);
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
