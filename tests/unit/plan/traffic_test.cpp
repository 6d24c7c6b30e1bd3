// SPDX-License-Identifier: Apache-2.0
#include "cache/plan/traffic.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tilewright::traffic_test {
namespace {

Argument tensor(const char* name, ArgRole role, std::initializer_list<const char*> shape) {
  Argument argument;
  argument.name = name;
  argument.role = role;
  for (const char* extent : shape) argument.shape.push_back(Formula::parse(extent));
  return argument;
}

OpInterface row_op() {
  OpInterface interface;
  interface.op = "norm";
  interface.dims = {"rows", "cols"};
  interface.dtypes = {DType::bf16};
  interface.attributes = {{"store", {"no", "yes"}}};
  interface.args = {tensor("x", ArgRole::in, {"rows", "cols"}), tensor("weight", ArgRole::in, {"cols"}),
                    tensor("sum", ArgRole::out, {"rows", "cols"}), tensor("y", ArgRole::out, {"rows", "cols"}),
                    tensor("eps", ArgRole::scalar, {})};
  interface.args[1].type = DType::f32;
  interface.args[2].when = Formula::parse("store == 'yes'");
  interface.args[4].type = DType::f32;
  return interface;
}

Problem problem(const OpInterface& interface, const char* spec) {
  const std::array<std::int64_t, 2> dims{10, 100};
  return make_problem(parse_spec(spec, interface), interface, dims);
}

TEST(Traffic, adds_up_the_tensors_that_a_problem_has_and_no_scalars) {
  const OpInterface interface = row_op();
  const Traffic without = traffic_of(interface, problem(interface, "norm[store=no]"));
  EXPECT_EQ(without.read, 10 * 100 * 2 + 100 * 4);
  EXPECT_EQ(without.written, 10 * 100 * 2);
  EXPECT_EQ(traffic_of(interface, problem(interface, "norm[store=yes]")).written, 2 * 10 * 100 * 2);
}

TEST(Traffic, of_an_inout_tensor_goes_both_ways) {
  OpInterface interface = row_op();
  interface.args = {tensor("x", ArgRole::inout, {"rows", "cols"})};
  const Traffic traffic = traffic_of(interface, problem(interface, "norm"));
  EXPECT_EQ(traffic.read, 2000);
  EXPECT_EQ(traffic.written, 2000);
}

TEST(Traffic, of_an_empty_tensor_is_nothing_however_long_its_extents) {
  OpInterface interface = row_op();
  interface.args = {tensor("x", ArgRole::in, {"rows", "cols"}),
                    tensor("none", ArgRole::in, {"1099511627776", "1099511627776", "rows - rows"})};
  EXPECT_EQ(traffic_of(interface, problem(interface, "norm")).read, 2000);
}

TEST(NearestReads, rounds_the_ratio_to_1_2_or_3_and_ties_down) {
  EXPECT_EQ(nearest_reads({100, 100}), 1);
  EXPECT_EQ(nearest_reads({149, 100}), 1);
  EXPECT_EQ(nearest_reads({150, 100}), 1);
  EXPECT_EQ(nearest_reads({151, 100}), 2);
  EXPECT_EQ(nearest_reads({200, 100}), 2);
  EXPECT_EQ(nearest_reads({260, 100}), 3);
  EXPECT_EQ(nearest_reads({9000, 100}), 3);
  EXPECT_EQ(nearest_reads({10, 100}), 1);
}

TEST(NearestReads, of_what_only_reads_is_the_most_and_of_what_only_writes_the_least) {
  EXPECT_EQ(nearest_reads({100, 0}), 3);
  EXPECT_EQ(nearest_reads({0, 100}), 1);
  EXPECT_EQ(nearest_reads({0, 0}), 1);
}

}  // namespace
}  // namespace tilewright::traffic_test
