// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdint>
#include <variant>

#include "cache/plan/plan.hpp"
#include "tests/unit/kernels/elementwise.hpp"

/// The ops `gemm_add_rmsnorm` and `gemm_add_layernorm`.
namespace tilewright::test::gemm_norm_test {
namespace {

class GemmNorm : public ::testing::TestWithParam<const char*> {
 protected:
  static BuiltInOp& op() {
    static std::map<std::string, BuiltInOp> ops;
    return ops.try_emplace(GetParam(), GetParam()).first->second;
  }
  static std::string key(const char* dtype, const char* bias, int m, int n, int k) {
    return fmt::format("{}[dtype={},bias={}]{{m={},n={},k={}}}", GetParam(), dtype, bias, m, n, k);
  }
  static int count(const std::string& problem, const DeviceFacts& facts, const std::string& implementation) {
    int found = 0;
    for (const Candidate& candidate : expand(op().definition(), op().problem(problem), facts).legal) {
      found += candidate.config.implementation == implementation ? 1 : 0;
    }
    return found;
  }
};

TEST_P(GemmNorm, is_right_by_every_way_to_multiply) {
  for (const char* implementation : {"simt", "mma", "skinny"}) {
    expect_right(op(), key("bf16", "yes", 37, 72, 136), implementation, 1);
  }
  expect_right(op(), key("f16", "no", 11, 40, 72), "mma", 1);
}

TEST_P(GemmNorm, is_right_for_rows_of_a_warp_of_a_block_and_of_any_width) {
  for (const int n : {8, 264, 520, 1000, 1032, 2056, 3080, 4104, 6152, 8192, 8200})
    expect_right(op(), key("f16", "no", 3, n, 16), "mma", 1);
}

TEST_P(GemmNorm, is_right_at_any_address_and_may_write_the_sums_over_the_residual) {
  for (const int n : {1, 67, 72}) {
    expect_right_base(op(), key("bf16", "yes", 5, n, 35), {.seed = 3, .misalign_elements = 1});
    expect_right_base(op(), key("bf16", "yes", 5, n, 35), {.seed = 4, .in_place = true});
  }
  expect_right(op(), key("bf16", "yes", 5, 67, 35), "mma", 1, {.seed = 3, .misalign_elements = 1});
}

TEST_P(GemmNorm, has_clusters_that_cover_rows_up_to_4096_columns) {
  const DeviceFacts hopper = facts_of_an_h200();
  for (const int n : {640, 1024, 2048, 3072, 4096}) {
    EXPECT_GE(count(key("bf16", "yes", 8192, n, 4096), hopper, "cluster"), 1) << n;
  }
  EXPECT_EQ(count(key("bf16", "yes", 8192, 5120, 4096), hopper, "cluster"), 0);
}

TEST_P(GemmNorm, spreads_few_rows_so_that_each_multiprocessor_has_room_for_its_share_and_no_more) {
  const DeviceFacts hopper = facts_of_an_h200();
  for (const int m : {20, 130, 512, 600, 1056}) {
    const Problem problem = op().problem(key("bf16", "no", m, 2048, 4096));
    int found = 0;
    for (const Candidate& each : expand(op().definition(), problem, hopper).legal) {
      if (each.config.implementation != "spread") continue;
      ++found;
      const auto plan =
          make_plan(op().definition().interface, each.implementation->recipe, each.config, problem, hopper);
      const PlannedKernel& rows = std::get<LaunchPlan>(plan).kernels.back();
      const std::int64_t share = (m + hopper.sm_count - 1) / hopper.sm_count;
      EXPECT_EQ(rows.grid[0], m);
      EXPECT_EQ(rows.shared_bytes % 1024, 0U);
      EXPECT_EQ(hopper.shared_per_sm / (rows.shared_bytes + 1024), share) << each.config.text();
    }
    EXPECT_GT(found, 4) << m;
  }
  EXPECT_EQ(count(key("bf16", "no", 1057, 2048, 4096), hopper, "spread"), 0);
}

TEST_P(GemmNorm, stages_residuals_whose_rows_a_tensor_map_describes) {
  const DeviceFacts hopper = facts_of_an_h200();
  for (const int m : {512, 8192}) {
    for (const int n : {640, 2048, 4096, 8200}) {
      EXPECT_GE(count(key("bf16", "yes", m, n, 4096), hopper, "staged"), 1) << m << ", " << n;
    }
  }
  EXPECT_EQ(count(key("bf16", "no", 8192, 2044, 4096), hopper, "staged"), 0);
}

TEST_P(GemmNorm, has_skinny_for_few_rows_where_no_split_of_k_fills_a_wave) {
  const DeviceFacts hopper = facts_of_an_h200();
  for (const int m : {8, 43, 64}) {
    for (const int n : {2138, 5000, 8704, 16896}) {
      EXPECT_GE(count(key("bf16", "no", m, n, 2560), hopper, "skinny"), 2) << m << ", " << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, GemmNorm, ::testing::Values("gemm_add_rmsnorm", "gemm_add_layernorm"),
                         [](const auto& op) { return std::string(op.param); });

}  // namespace
}  // namespace tilewright::test::gemm_norm_test
