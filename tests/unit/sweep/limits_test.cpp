// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/limits.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

LaunchPlan plan(std::uint32_t threads, std::uint32_t shared_bytes) {
  PlannedKernel kernel;
  kernel.entry = "k";
  kernel.block = {threads, 1, 1};
  kernel.shared_bytes = shared_bytes;
  LaunchPlan plan;
  plan.kernels = {kernel};
  return plan;
}

KernelFacts facts(int registers, int static_shared = 0) { return {"k", "_Zk", registers, 0, 0, 0, static_shared}; }

TEST(ExceededLimit, is_none_for_a_kernel_that_fits) {
  EXPECT_EQ(exceeded_limit(plan(256, 1024), {facts(64)}, emulator_facts()), std::nullopt);
}

TEST(ExceededLimit, counts_registers_of_a_whole_block) {
  EXPECT_EQ(exceeded_limit(plan(1024, 0), {facts(64)}, emulator_facts()), std::nullopt);
  const auto reason = exceeded_limit(plan(1024, 0), {facts(65)}, emulator_facts());
  ASSERT_TRUE(reason.has_value());
  EXPECT_NE(reason->find("1024 threads with 65 registers"), std::string::npos) << *reason;
}

TEST(ExceededLimit, adds_static_to_dynamic_shared_memory) {
  const DeviceFacts device = emulator_facts();
  const auto most = static_cast<std::uint32_t>(device.shared_per_block_optin);
  EXPECT_EQ(exceeded_limit(plan(32, most), {facts(32)}, device), std::nullopt);
  EXPECT_TRUE(exceeded_limit(plan(32, most), {facts(32, 16)}, device).has_value());
}

TEST(ExceededLimit, judges_only_the_kernels_that_are_launched) {
  KernelFacts unused = facts(32, 1 << 20);
  unused.entry = "other";
  EXPECT_EQ(exceeded_limit(plan(32, 0), {facts(32), unused}, emulator_facts()), std::nullopt);
}

}  // namespace
}  // namespace tilewright
