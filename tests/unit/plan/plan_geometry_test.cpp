// SPDX-License-Identifier: Apache-2.0
// The limits of blocks, shared memory, clusters and grids, on a kernel whose formulas a test replaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/plan/plan.hpp"
#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright::plan_geometry_test {
namespace {

using test::formula;
using test::formulas;
using ::testing::ElementsAre;

DeviceFacts gpu(int capability) {
  DeviceFacts facts = emulator_facts();
  facts.name = "GTX fictional";
  facts.compute_capability = capability;
  facts.sm_count = 132;
  return facts;
}

/// A copy kernel whose launch is under test; `v` is 5 in all formulas.
class Geometry {
 public:
  Geometry() {
    recipe_.name = "plain";
    recipe_.parameters = {"v"};
    KernelRecipe kernel;
    kernel.entry = "copy";
    kernel.grid = formulas({"rows"});
    kernel.block = formulas({"128"});
    recipe_.kernels = {kernel};
  }

  Geometry& grid(const std::vector<std::string>& texts) { return kernel().grid = formulas(texts), *this; }
  Geometry& block(const std::vector<std::string>& texts) { return kernel().block = formulas(texts), *this; }
  Geometry& shared(const std::string& text) { return kernel().shared_bytes = formula(text), *this; }
  Geometry& cluster(const std::vector<std::string>& texts) { return kernel().cluster = formulas(texts), *this; }
  Geometry& nonportable() { return kernel().nonportable_cluster = true, *this; }

  [[nodiscard]] std::variant<LaunchPlan, Illegal> plan(const DeviceFacts& device = gpu(90),
                                                       const Residency* residency = nullptr) const {
    const OpInterface op = test::softmax();
    return make_plan(op, recipe_, Config::parse("plain{v=5}"), parse_problem("softmax{rows=48,cols=2}", op), device,
                     residency);
  }
  [[nodiscard]] PlannedKernel kernel_of(const DeviceFacts& device = gpu(90),
                                        const Residency* residency = nullptr) const {
    return std::get<LaunchPlan>(plan(device, residency)).kernels.at(0);
  }
  [[nodiscard]] std::string reason(const DeviceFacts& device = gpu(90), const Residency* residency = nullptr) const {
    return std::get<Illegal>(plan(device, residency)).reason;
  }
  [[nodiscard]] std::string rule() const { return std::get<Illegal>(plan()).rule; }

 private:
  KernelRecipe& kernel() { return recipe_.kernels[0]; }
  ImplementationRecipe recipe_;
};

TEST(PlanGeometry, extents_that_are_not_given_are_one) {
  const PlannedKernel kernel = Geometry().kernel_of();
  EXPECT_THAT(kernel.grid, ElementsAre(48, 1, 1));
  EXPECT_THAT(kernel.block, ElementsAre(128, 1, 1));
  EXPECT_THAT(kernel.cluster, ElementsAre(1, 1, 1));
  EXPECT_EQ(kernel.shared_bytes, 0U);
}

TEST(PlanGeometry, a_block_has_one_to_as_many_threads_as_the_device_takes) {
  EXPECT_THAT(Geometry().block({"1024"}).kernel_of().block, ElementsAre(1024, 1, 1));
  EXPECT_THAT(Geometry().block({"16", "1", "64"}).kernel_of().block, ElementsAre(16, 1, 64));
  EXPECT_EQ(Geometry().block({"v * 256"}).reason(), "the block of copy in x is 1280, not 1 to 1024 (v=5)");
  EXPECT_EQ(Geometry().block({"v - 5"}).reason(), "the block of copy in x is 0, not 1 to 1024 (v=5)");
  EXPECT_EQ(Geometry().block({"1", "-v"}).reason(), "the block of copy in y is -5, not 1 to 1024 (v=5)");
  EXPECT_EQ(Geometry().block({"1", "1", "65"}).reason(), "the block of copy in z is 65, not 1 to 64");
  EXPECT_EQ(Geometry().block({"64", "32"}).reason(), "the block of copy has 2048 threads; the device takes 1024");
  DeviceFacts small = gpu(90);
  small.max_threads_per_block = 256;
  EXPECT_EQ(Geometry().block({"512"}).reason(small), "the block of copy has 512 threads; the device takes 256");
}

TEST(PlanGeometry, a_grid_stays_within_the_limits_of_each_axis) {
  EXPECT_THAT(Geometry().grid({"2147483647", "65535", "65535"}).kernel_of().grid,
              ElementsAre(2147483647, 65535, 65535));
  EXPECT_EQ(Geometry().grid({"2147483648"}).reason(), "the grid of copy in x is 2147483648, not 1 to 2147483647");
  EXPECT_EQ(Geometry().grid({"1", "65536"}).reason(), "the grid of copy in y is 65536, not 1 to 65535");
  EXPECT_EQ(Geometry().grid({"1", "1", "65536"}).reason(), "the grid of copy in z is 65536, not 1 to 65535");
  EXPECT_EQ(Geometry().grid({"rows / 49"}).reason(), "the grid of copy in x is 0, not 1 to 2147483647 (rows=48)");
  EXPECT_EQ(Geometry().grid({"rows / 49"}).rule(), "the grid of copy in x");
}

TEST(PlanGeometry, shared_memory_stays_within_what_a_block_may_opt_in_to) {
  EXPECT_EQ(Geometry().shared("232448").kernel_of().shared_bytes, 232448U);
  EXPECT_EQ(Geometry().shared("232449").reason(), "the shared memory of copy is 232449 bytes, not 0 to 232448");
  EXPECT_EQ(Geometry().shared("-v").reason(), "the shared memory of copy is -5 bytes, not 0 to 232448 (v=5)");
}

TEST(PlanGeometry, a_cluster_has_at_most_8_blocks_or_16_where_that_is_said) {
  EXPECT_THAT(Geometry().cluster({"4", "1"}).grid({"8", "3"}).kernel_of().cluster, ElementsAre(4, 1, 1));
  EXPECT_THAT(Geometry().cluster({"2", "2", "2"}).grid({"2", "2", "2"}).kernel_of().cluster, ElementsAre(2, 2, 2));
  EXPECT_EQ(Geometry().cluster({"16"}).reason(), "the cluster of copy has 16 blocks; at most 8 are allowed");
  const PlannedKernel wide = Geometry().cluster({"16"}).nonportable().kernel_of();
  EXPECT_THAT(wide.cluster, ElementsAre(16, 1, 1));
  EXPECT_TRUE(wide.nonportable_cluster);
  EXPECT_EQ(Geometry().cluster({"16", "2"}).nonportable().reason(),
            "the cluster of copy has 32 blocks; at most 16 are allowed");
  EXPECT_EQ(Geometry().cluster({"v * 4"}).reason(), "the cluster of copy in x is 20, not 1 to 16 (v=5)");
  EXPECT_EQ(Geometry().cluster({"0"}).reason(), "the cluster of copy in x is 0, not 1 to 16");
}

TEST(PlanGeometry, a_cluster_divides_its_grid) {
  EXPECT_EQ(Geometry().cluster({"4"}).grid({"10"}).reason(),
            "the grid of copy is 10x1x1, which its cluster of 4x1x1 does not divide");
  EXPECT_EQ(Geometry().cluster({"1", "2"}).grid({"10"}).reason(),
            "the grid of copy is 10x1x1, which its cluster of 1x2x1 does not divide");
}

TEST(PlanGeometry, clusters_need_sm_90_or_the_emulator) {
  EXPECT_EQ(Geometry().cluster({"2"}).reason(gpu(80)),
            "the cluster of copy has 2 blocks; clusters need sm_90, the device is sm_80");
  EXPECT_THAT(Geometry().cluster({"2"}).kernel_of(emulator_facts()).cluster, ElementsAre(2, 1, 1));
  EXPECT_THAT(Geometry().cluster({"1", "1"}).kernel_of(gpu(80)).cluster, ElementsAre(1, 1, 1));
}

TEST(PlanGeometry, a_grid_may_ask_how_many_blocks_are_resident) {
  PlannedKernel asked;
  Residency residency;
  residency.resident_blocks = [&](const PlannedKernel& kernel) -> std::int64_t {
    asked = kernel;
    return 30;
  };
  residency.max_active_clusters = [](const PlannedKernel&) -> std::int64_t { return 7; };
  const Geometry geometry = Geometry().block({"64"}).shared("1000").cluster({"2"}).grid({"min(rows, resident_blocks)"});
  EXPECT_THAT(geometry.kernel_of(gpu(90), &residency).grid, ElementsAre(30, 1, 1));
  EXPECT_THAT(asked.block, ElementsAre(64, 1, 1));
  EXPECT_THAT(asked.cluster, ElementsAre(2, 1, 1));
  EXPECT_EQ(asked.shared_bytes, 1000U);
  EXPECT_THAT(Geometry().grid({"max_active_clusters * 2"}).kernel_of(gpu(90), &residency).grid, ElementsAre(14, 1, 1));
}

TEST(PlanGeometry, without_a_residency_a_grid_sees_one_block_an_sm) {
  EXPECT_THAT(Geometry().grid({"resident_blocks"}).kernel_of().grid, ElementsAre(132, 1, 1));
  EXPECT_THAT(Geometry().grid({"max_active_clusters"}).kernel_of().grid, ElementsAre(1, 1, 1));
}

TEST(PlanGeometry, a_kernel_that_cannot_be_resident_is_illegal) {
  Residency residency;
  residency.resident_blocks = [](const PlannedKernel&) -> std::int64_t { return 0; };
  EXPECT_EQ(Geometry().grid({"min(rows, resident_blocks)"}).reason(gpu(90), &residency),
            "the grid of copy in x is 0, not 1 to 2147483647 (rows=48, resident_blocks=0)");
}

TEST(PlanGeometry, the_device_is_not_asked_about_a_kernel_that_is_illegal_already) {
  Residency residency;
  residency.resident_blocks = [](const PlannedKernel&) -> std::int64_t { throw std::logic_error("asked"); };
  EXPECT_EQ(Geometry().block({"4096"}).grid({"resident_blocks"}).reason(gpu(90), &residency),
            "the block of copy in x is 4096, not 1 to 1024");
  EXPECT_NO_THROW((void)Geometry().kernel_of(gpu(90), &residency));
}

TEST(PlanGeometry, only_grids_may_ask_what_is_resident) {
  EXPECT_THROW((void)Geometry().block({"resident_blocks"}).plan(), DefinitionError);
  EXPECT_THROW((void)Geometry().shared("max_active_clusters").plan(), DefinitionError);
  EXPECT_THROW((void)Geometry().cluster({"resident_blocks"}).plan(), DefinitionError);
}

TEST(PlanGeometry, missing_and_surplus_formulas_are_mistakes_of_the_definition) {
  using test::error_of;
  EXPECT_EQ(error_of<DefinitionError>([] { (void)Geometry().grid({}).plan(); }),
            "implementation plain of softmax: the grid of copy has no formula");
  EXPECT_EQ(error_of<DefinitionError>([] { (void)Geometry().block({}).plan(); }),
            "implementation plain of softmax: the block of copy has no formula");
  EXPECT_EQ(error_of<DefinitionError>([] {
              (void)Geometry().block({"1", "1", "1", "1"}).plan();
            }),
            "implementation plain of softmax: the block of copy has more than three formulas");
}

}  // namespace
}  // namespace tilewright::plan_geometry_test
