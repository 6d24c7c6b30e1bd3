// SPDX-License-Identifier: Apache-2.0
// From the extents of tensors to the dims of an op.
#include "cache/launch/tensor_dims.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/base/error.hpp"
#include "tests/launch/sample_op.hpp"

namespace tilewright::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Extents = std::vector<std::int64_t>;

/// An op of one dtype with the dims m and n, and the tensors a, b… of the shapes given.
OpInterface op_of(const std::vector<std::vector<const char*>>& shapes) {
  OpInterface op;
  op.op = "op";
  op.dims = {"m", "n"};
  op.dtypes = {DType::f32};
  op.attributes = {{"layout", {"n", "t"}}};
  for (const auto& shape : shapes) {
    Argument argument;
    argument.name = std::string(1, static_cast<char>('a' + op.args.size()));
    for (const char* extent : shape) argument.shape.push_back(Formula::parse(extent));
    op.args.push_back(argument);
  }
  return op;
}

Extents dims(const OpInterface& op, const std::vector<Extents>& extents, const char* spec = "op") {
  std::vector<TensorShape> tensors;
  for (std::size_t i = 0; i < extents.size(); ++i) tensors.push_back({op.args[i].name, extents[i]});
  return dims_of_tensors(parse_spec(spec, op), op, tensors);
}

std::string refusal(const OpInterface& op, const std::vector<Extents>& extents) {
  try {
    dims(op, extents);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(TensorDims, extents_that_are_dims_tell_them) {
  EXPECT_THAT(dims(op_of({{"m", "n"}, {"n"}}), {{3, 5}, {5}}), ElementsAre(3, 5));
}

TEST(TensorDims, leading_extents_are_multiplied) {
  EXPECT_THAT(dims(op_of({{"m", "n"}}), {{2, 3, 4, 5}}), ElementsAre(24, 5));
  EXPECT_THAT(dims(op_of({{"m", "n"}, {"m"}}), {{2, 3, 5}, {2, 3}}), ElementsAre(6, 5));
}

TEST(TensorDims, extents_that_grow_evenly_with_a_dim_tell_it) {
  EXPECT_THAT(dims(op_of({{"m", "2 * n"}}), {{3, 10}}), ElementsAre(3, 5));
  EXPECT_THAT(dims(op_of({{"m + 1", "m * n"}}), {{4, 15}}), ElementsAre(3, 5));
}

TEST(TensorDims, an_extent_may_wait_for_what_another_tensor_tells) {
  EXPECT_THAT(dims(op_of({{"m * n"}, {"n"}}), {{15}, {5}}), ElementsAre(3, 5));
}

TEST(TensorDims, attributes_choose_what_an_extent_is) {
  const OpInterface op = op_of({{"select(layout == 't', n, m)", "select(layout == 't', m, n)"}});
  EXPECT_THAT(dims(op, {{3, 5}}), ElementsAre(3, 5));
  EXPECT_THAT(dims(op, {{3, 5}}, "op[layout=t]"), ElementsAre(5, 3));
}

TEST(TensorDims, tensors_that_disagree_are_named_with_where_the_dims_are_from) {
  EXPECT_EQ(refusal(op_of({{"m", "n"}, {"n"}}), {{3, 5}, {6}}),
            "op[dtype=f32,layout=n]: 'b' has the extent 6 where [n] needs 5, with m=3 from 'a', n=5 from 'a'");
  EXPECT_THAT(refusal(op_of({{"m", "2 * n"}, {"n"}}), {{3, 11}, {5}}), HasSubstr("'a' has the extent 11"));
  EXPECT_THAT(refusal(op_of({{"m", "n"}, {"ceil_div(n, 4)"}}), {{3, 5}, {1}}),
              HasSubstr("where [ceil_div(n, 4)] needs 2"));
}

TEST(TensorDims, too_few_extents_are_refused) {
  EXPECT_THAT(refusal(op_of({{"m", "n"}}), {{5}}), HasSubstr("'a' has the extents [5]; it needs 2 of them, [m, n]"));
  EXPECT_THAT(refusal(op_of({{"m", "n"}}), {{}}), HasSubstr("'a' has the extents []"));
}

TEST(TensorDims, a_dim_that_no_extent_tells_is_named) {
  EXPECT_THAT(refusal(op_of({{"m"}, {"ceil_div(n, 4)"}}), {{3}, {2}}), HasSubstr("do not tell the dim 'n'"));
  EXPECT_THAT(refusal(op_of({{"m * n"}}), {{6}}), HasSubstr("do not tell the dim 'm'"));
}

TEST(TensorDims, a_formula_that_fails_for_a_guess_is_left_for_later) {
  EXPECT_THAT(dims(op_of({{"m / (m - 1)", "m", "n"}}), {{1, 3, 5}}), ElementsAre(3, 5));
}

TEST(TensorDims, extents_without_elements_and_beyond_all_memory_are_refused) {
  EXPECT_THAT(refusal(op_of({{"m", "n"}}), {{0, 5}}), HasSubstr("dim 'm' is 0"));
  EXPECT_THAT(refusal(op_of({{"m", "n"}}), {{-3, 5}}), HasSubstr("dim 'm' is -3"));
  EXPECT_THAT(refusal(op_of({{"m", "n"}}), {{INT64_MAX, 3, 5}}), HasSubstr("more than 2^63-1 rows"));
}

}  // namespace
}  // namespace tilewright::launch
