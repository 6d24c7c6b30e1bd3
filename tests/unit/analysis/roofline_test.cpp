// SPDX-License-Identifier: Apache-2.0
#include "tuner/analysis/roofline.hpp"

#include <gtest/gtest.h>

#include "tests/unit/store/fixture.hpp"

namespace tilewright {
namespace {

using namespace store_tests;

/// A cache with a device, and an op whose 16-bit types tensor cores may compute.
class RooflineOf : public ::testing::Test {
 protected:
  RooflineOf() : store(prepared_store(folder / "cache.db")) {
    definition.interface = softmax_interface();
    definition.bytes = Formula::parse("2 * rows * cols");
    definition.flops = Formula::parse("1000 * rows * cols");
    definition.tensor_cores = Formula::parse("dtype != 'f32'");
    store.put_ceiling(device, {1600, 1, MeasureMode::cold, std::nullopt, 400, "GPU-1", 5});
  }

  [[nodiscard]] Roofline of(DType dtype) const {
    Ceilings ceilings(store);
    return roofline_of(ceilings, &definition, definition.interface.hash(), softmax_problem(8, 100, dtype), device,
                       MeasureMode::cold);
  }

  TemporaryFolder folder;
  Store store;
  OpDefinition definition;
  const std::string device = h200().fingerprint();
};

TEST_F(RooflineOf, has_the_rate_of_the_unit_that_the_problem_computes_on) {
  store.put_compute_rate(device, {6e13, "", "GPU-1", 5});
  store.put_compute_rate(device, {8e14, "", "GPU-1", 5, "tensor_bf16"});
  EXPECT_EQ(of(DType::bf16).rate->unit, "tensor_bf16");
  EXPECT_DOUBLE_EQ(*ridge_of(of(DType::bf16)), 8e14 / 4e9);
  EXPECT_EQ(of(DType::f32).rate->unit, kFp32);
  EXPECT_DOUBLE_EQ(*ridge_of(of(DType::f32)), 6e13 / 4e9);
}

TEST_F(RooflineOf, has_the_rate_of_fp32_in_a_cache_that_has_no_other) {
  EXPECT_FALSE(of(DType::bf16).rate.has_value());
  store.put_compute_rate(device, {6e11, "", "GPU-1", 5});
  EXPECT_EQ(of(DType::bf16).rate->unit, kFp32);
  Timing timing;
  timing.median_ns = 500;  // 1600 operations a nanosecond; fp32 has 600
  EXPECT_EQ(bound_of(of(DType::bf16), &timing), Bound::compute);
  EXPECT_TRUE(beyond_fp32(of(DType::bf16), &timing));
  EXPECT_FALSE(share_of_ceiling(of(DType::bf16), &timing).has_value());
  store.put_compute_rate(device, {2e12, "", "GPU-1", 5, "tensor_bf16"});
  EXPECT_FALSE(beyond_fp32(of(DType::bf16), &timing));
  EXPECT_DOUBLE_EQ(*share_of_ceiling(of(DType::bf16), &timing), 0.8);
}

TEST_F(RooflineOf, has_no_share_where_launching_bounds_or_every_copy_is_outrun) {
  store.put_compute_rate(device, {6e14, "", "GPU-1", 5});
  Timing timing;
  timing.median_ns = 395;  // the copy takes 400
  EXPECT_DOUBLE_EQ(*share_of_ceiling(of(DType::f32), &timing), 400.0 / 395);
  timing.median_ns = 390;
  EXPECT_TRUE(beyond_copies(of(DType::f32), &timing));
  EXPECT_FALSE(share_of_ceiling(of(DType::f32), &timing).has_value());
  timing.median_ns = 500;
  EXPECT_TRUE(share_of_ceiling(of(DType::f32), &timing).has_value());
  timing.floor_ns = 251;
  EXPECT_FALSE(share_of_ceiling(of(DType::f32), &timing).has_value());
}

TEST_F(RooflineOf, is_empty_without_a_definition_of_the_interface) {
  const Problem problem = softmax_problem(8, 100);
  for (const OpDefinition* each : {static_cast<const OpDefinition*>(nullptr), &std::as_const(definition)}) {
    Ceilings ceilings(store);
    const Roofline roofline = roofline_of(ceilings, each, "another", problem, device, MeasureMode::cold);
    EXPECT_FALSE(roofline.bytes || roofline.flops || roofline.ceiling || roofline.rate);
  }
}

}  // namespace
}  // namespace tilewright
