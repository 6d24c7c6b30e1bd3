// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/ceiling.hpp"

#include <gtest/gtest.h>

#include "tests/unit/sweep/fake_device.hpp"
#include "tuner/definition/catalogue.hpp"

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

TEST(RateProblem, is_of_the_dtype_that_the_op_computes_on_the_unit) {
  Catalogue catalogue({TILEWRIGHT_TEST_OPS}, TILEWRIGHT_TEST_KERNELS);
  const OpDefinition& mma = catalogue.find(op_of_rate("tensor_tf32"));
  EXPECT_EQ(rate_problem(mma, "tensor_tf32")->key(), "mma[dtype=f32]{n=100}");
  EXPECT_EQ(rate_problem(mma, "tensor_f16"), std::nullopt);
  EXPECT_EQ(rate_problem(mma, kFp32), std::nullopt);
  EXPECT_EQ(rate_problem(catalogue.find(op_of_rate(kFp32)), kFp32)->key(), "fma[dtype=f32]{n=100}");
}

TEST(RateProblem, of_the_built_in_op_is_there_for_each_type_of_a_product) {
  Catalogue catalogue({}, TILEWRIGHT_TEST_KERNELS);
  const OpDefinition& gemm = catalogue.find("gemm");
  for (const char* spec : {"dtype=bf16", "dtype=f16", "dtype=f32,math=tf32", "dtype=f32"}) {
    const std::string unit =
        gemm.unit_of(parse_problem(std::string("gemm[") + spec + "]{m=1,n=1,k=1}", gemm.interface));
    const auto problem = rate_problem(catalogue.find(op_of_rate(unit)), unit);
    EXPECT_EQ(problem.has_value(), true) << unit;
    EXPECT_EQ(unit == kFp32, std::string(spec) == "dtype=f32");
  }
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
