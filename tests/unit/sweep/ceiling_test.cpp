// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/ceiling.hpp"

#include <gtest/gtest.h>

#include "tests/unit/sweep/fake_device.hpp"

namespace tilewright {
namespace {

OpInterface copy_interface() {
  OpInterface interface;
  interface.op = "copy";
  interface.dims = {"n"};
  interface.dtypes = {DType::f32, DType::bf16};
  interface.attributes = {{"reads", {"1", "2", "3"}}};
  return interface;
}

TEST(CopyProblem, moves_the_bytes_asked_for_half_in_half_out) {
  EXPECT_EQ(copy_problem(copy_interface(), DType::f32, 8000, 1).key(), "copy[dtype=f32,reads=1]{n=1000}");
  EXPECT_EQ(copy_problem(copy_interface(), DType::bf16, 8000, 1).key(), "copy[dtype=bf16,reads=1]{n=2000}");
}

TEST(CopyProblem, moves_the_same_bytes_in_whatever_ratio) {
  EXPECT_EQ(copy_problem(copy_interface(), DType::f32, 12000, 2).key(), "copy[dtype=f32,reads=2]{n=1000}");
  EXPECT_EQ(copy_problem(copy_interface(), DType::bf16, 12000, 3).key(), "copy[dtype=bf16,reads=3]{n=1500}");
}

TEST(CopyProblem, needs_no_ratio_of_a_copy_op_that_knows_none) {
  OpInterface plain = copy_interface();
  EXPECT_TRUE(can_read(plain, 3));
  EXPECT_FALSE(can_read(plain, 4));
  plain.attributes.clear();
  EXPECT_TRUE(can_read(plain, 1));
  EXPECT_FALSE(can_read(plain, 2));
  EXPECT_EQ(copy_problem(plain, DType::f32, 8000, 1).key(), "copy[dtype=f32]{n=1000}");
}

TEST(CopyProblem, takes_the_ops_first_type_where_it_has_not_the_one_asked_for) {
  EXPECT_EQ(copy_problem(copy_interface(), DType::f16, 8000, 1).key(), "copy[dtype=f32,reads=1]{n=1000}");
}

TEST(CopyProblem, rounds_odd_amounts_down_to_one_element_at_least) {
  EXPECT_EQ(copy_problem(copy_interface(), DType::f32, 8007, 1).key(), "copy[dtype=f32,reads=1]{n=1000}");
  EXPECT_EQ(copy_problem(copy_interface(), DType::f32, 3, 3).key(), "copy[dtype=f32,reads=3]{n=1}");
}

TEST(MemcpyNs, is_the_median_of_the_devices_own_copy_and_frees_its_buffers) {
  testing::FakeDevice device({.gpu = true});
  const double time = memcpy_ns(device, 1 << 20, MeasureMode::cold, StopRule{}, [] { return false; });
  EXPECT_NEAR(time, 2500, 5);
  EXPECT_EQ(device.copies_timed, 1);
  EXPECT_EQ(device.used, 0U);
  EXPECT_GT(device.most_used, std::size_t{2} << 20);  // more than one set
}

}  // namespace
}  // namespace tilewright
