// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <tuple>

#include "tests/unit/kernels/elementwise.hpp"
#include "tests/unit/kernels/op_values.hpp"

/// The op `rope`.
namespace tilewright::test::rope_test {
namespace {

BuiltInOp& rope() {
  static BuiltInOp op("rope");
  return op;
}

class Rope : public ::testing::TestWithParam<const char*> {
 protected:
  struct Shape {
    int tokens, hq, hkv, d, rot;
  };
  static std::string key(const char* style, const char* norm, const Shape& shape) {
    return fmt::format("rope[dtype={},style={},norm={}]{{tokens={},hq={},hkv={},d={},rot={},positions=16}}", GetParam(),
                       style, norm, shape.tokens, shape.hq, shape.hkv, shape.d, shape.rot);
  }
};

TEST_P(Rope, is_right_in_every_style_with_whole_and_with_part_rotary_heads) {
  for (const char* style : {"halved", "interleaved"}) {
    for (const char* norm : {"no", "yes"}) {
      for (const Shape& shape : {Shape{9, 4, 2, 64, 64}, {5, 3, 1, 96, 32}, {3, 32, 8, 128, 128}}) {
        expect_right(rope(), key(style, norm, shape), "vectors", 3);
        expect_right(rope(), key(style, norm, shape), "tokens", 3);
        if (norm == std::string("no")) expect_right(rope(), key(style, norm, shape), "streams", 6);
        expect_right_base(rope(), key(style, norm, shape));
      }
    }
  }
}

TEST_P(Rope, base_is_right_for_every_head_size_and_address) {
  for (const char* style : {"halved", "interleaved"}) {
    for (const Shape& shape : {Shape{1, 1, 1, 2, 2}, {3, 2, 1, 10, 6}, {3, 1, 1, 130, 130}}) {
      expect_right_base(rope(), key(style, "yes", shape), {.seed = 7, .misalign_elements = 1});
    }
  }
}

TEST_P(Rope, may_write_over_the_heads_that_it_reads) {
  const ArgumentSet::Options options{.seed = 3, .in_place = true};
  for (const char* norm : {"no", "yes"}) {
    expect_right_base(rope(), key("halved", norm, {3, 2, 1, 10, 6}), options);
    for (const char* implementation : {"vectors", "tokens"}) {
      expect_right(rope(), key("halved", norm, {5, 4, 2, 64, 64}), implementation, 3, options);
    }
  }
  expect_right(rope(), key("halved", "no", {5, 4, 2, 64, 64}), "streams", 6, options);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, Rope, ::testing::ValuesIn(kDtypes),
                         [](const auto& dtype) { return std::string(dtype.param); });

TEST(RopeSpace, has_dims_at_run_time_for_heads_of_all_sizes_and_constants_for_those_that_leave_lanes_idle) {
  for (const auto& [d, rot, constants] : {std::tuple{128, 128, false}, {232, 232, true}, {232, 96, true}}) {
    const Problem problem =
        rope().problem(fmt::format("rope[dtype=bf16,style=halved,norm=no]{{tokens=64,hq=32,hkv=8,d={},rot={},"
                                   "positions=16}}",
                                   d, rot));
    for (const char* implementation : {"tokens", "streams"}) {
      std::set<std::int64_t> found;
      for (const Config& config : rope().sample(problem, implementation, 1000)) {
        found.insert(config.value_or("static_dims", -1));
      }
      EXPECT_EQ(found, constants ? std::set<std::int64_t>({0, 1}) : std::set<std::int64_t>({0}))
          << implementation << ", " << d << ", " << rot;
    }
  }
}

TEST(RopeReference, turns_pairs_by_the_angle_of_their_position) {
  const OpValues op(rope(), "rope[dtype=f32,style=interleaved,norm=no]{tokens=2,hq=1,hkv=1,d=4,rot=2,positions=3}");
  Values inputs = op.inputs();
  const double angle = 0.5;
  inputs["cos"] = {1, 1, std::cos(angle)};
  inputs["sin"] = {0, 0, std::sin(angle)};
  inputs["position"] = {2, 0};
  const Values outputs = op.reference(inputs);
  const std::vector<double>& q = inputs["q"];
  const std::vector<double>& turned = outputs.at("q_out");
  EXPECT_NEAR(turned[0], q[0] * std::cos(angle) - q[1] * std::sin(angle), 1e-6);
  EXPECT_NEAR(turned[1], q[1] * std::cos(angle) + q[0] * std::sin(angle), 1e-6);
  EXPECT_EQ(turned[2], q[2]);
  EXPECT_EQ(turned[3], q[3]);
}

}  // namespace
}  // namespace tilewright::test::rope_test
