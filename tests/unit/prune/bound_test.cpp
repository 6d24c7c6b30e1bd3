// SPDX-License-Identifier: Apache-2.0
#include "tuner/prune/bound.hpp"

#include <gtest/gtest.h>

namespace tilewright::testing::bound_test {
namespace {

/// An H200's facts.
DeviceFacts big_gpu() {
  DeviceFacts facts = emulator_facts();
  facts.name = "Fictional GPU";
  facts.compute_capability = 90;
  facts.sm_count = 132;
  facts.memory_bus_bits = 6144;
  facts.l2_bytes = 60 << 20;
  facts.shared_per_sm = 228 << 10;
  facts.registers_per_sm = 65536;
  facts.max_threads_per_sm = 2048;
  return facts;
}

PlannedKernel kernel(std::uint32_t blocks, std::uint32_t threads, std::uint32_t shared = 0) {
  PlannedKernel kernel;
  kernel.entry = "k";
  kernel.grid = {blocks, 1, 1};
  kernel.block = {threads, 1, 1};
  kernel.shared_bytes = shared;
  return kernel;
}

KernelFacts compiled(int registers, int static_shared = 0) { return {"k", "_Zk", registers, 0, 0, 0, static_shared}; }

constexpr double kMuch = 1e9;

TimeBound of(const PlannedKernel& planned, const Work& work, double padding = 1,
             const std::vector<KernelFacts>& said = {}) {
  return bound_of(std::vector{planned}, work, padding, big_gpu(), said).value();
}

TEST(BlocksPerSm, are_as_many_as_threads_shared_memory_and_registers_let_in) {
  const DeviceFacts device = big_gpu();
  EXPECT_EQ(blocks_per_sm(kernel(1, 256), device), 8);
  EXPECT_EQ(blocks_per_sm(kernel(1, 32), device), 32) << "no more, however small they are";
  EXPECT_EQ(blocks_per_sm(kernel(1, 256, 100 << 10), device), 2);
  const KernelFacts many = compiled(128);
  EXPECT_EQ(blocks_per_sm(kernel(1, 256), device, &many), 2);
  const KernelFacts fixed = compiled(0, 100 << 10);
  EXPECT_EQ(blocks_per_sm(kernel(1, 256), device, &fixed), 2);
  EXPECT_EQ(blocks_per_sm(kernel(1, 1024, 300 << 10), device), 1) << "what cannot be launched is another's to say";
}

TEST(Bound, of_a_grid_that_fills_the_device_is_the_time_of_its_bytes) {
  const TimeBound bound = of(kernel(132 * 64, 256), {kMuch, 0, false});
  EXPECT_EQ(bound.by, TimeBound::By::work);
  EXPECT_NEAR(bound.ns, kMuch / 6144 + 2000, 1);
}

TEST(Bound, of_a_few_blocks_is_what_so_many_multiprocessors_take_from_the_cache) {
  const TimeBound few = of(kernel(3, 1024), {kMuch, 0, false});
  EXPECT_EQ(few.by, TimeBound::By::fill);
  EXPECT_NEAR(few.ns, kMuch / (3 * 128) + 2000, 1);
  EXPECT_EQ(why(few, big_gpu()), "fills 3 of 132 SMs");
}

TEST(Bound, of_a_last_wave_that_is_nearly_empty_counts_the_busiest_multiprocessor) {
  const Work compute{0, 1e12, false};
  EXPECT_NEAR((of(kernel(133, 256), compute).ns - 2000) / (of(kernel(132, 256), compute).ns - 2000), 2 * 132.0 / 133,
              0.01);
  EXPECT_NE(why(of(kernel(133, 256), compute), big_gpu()).find("133 blocks on 132 SMs"), std::string::npos);
}

TEST(Bound, of_few_threads_is_what_they_can_have_on_their_way) {
  const TimeBound bound = of(kernel(132, 32), {kMuch, 0, false});
  EXPECT_EQ(bound.by, TimeBound::By::flight);
  EXPECT_EQ(bound.threads, 32);
  EXPECT_DOUBLE_EQ(bound.flight, 132 * 32 * 256);
  EXPECT_NE(why(bound, big_gpu()).find("32 threads on an SM keep 1.0"), std::string::npos) << why(bound, big_gpu());
  EXPECT_EQ(of(kernel(132, 32, 64 << 10), {kMuch, 0, false}).by, TimeBound::By::work) << "copies into shared memory";
}

TEST(Bound, of_tiles_that_are_larger_than_the_problem_counts_what_they_compute) {
  const TimeBound bound = of(kernel(132, 256), {0, 1e12, false}, 8);
  EXPECT_EQ(bound.by, TimeBound::By::padding);
  EXPECT_NEAR((bound.ns - 2000) / (of(kernel(132, 256), {0, 1e12, false}).ns - 2000), 8, 0.001);
  EXPECT_NE(why(bound, big_gpu()).find("8 times what was asked"), std::string::npos);
}

TEST(Bound, of_a_small_problem_is_nearly_the_same_for_all) {
  EXPECT_LT(of(kernel(1, 32), {1e3, 0, false}).ns, 1.1 * of(kernel(132, 256), {1e3, 0, false}).ns);
}

TEST(Bound, of_bytes_in_the_cache_is_lower_and_needs_fewer_on_their_way) {
  EXPECT_LT(of(kernel(132 * 64, 256), {kMuch, 0, true}).ns, of(kernel(132 * 64, 256), {kMuch, 0, false}).ns);
  EXPECT_LT(of(kernel(132, 32), {kMuch, 0, true}).ns, of(kernel(132, 32), {kMuch, 0, false}).ns);
}

TEST(Bound, with_the_registers_known_is_never_lower) {
  const Work work{kMuch, 0, false};
  EXPECT_GT(of(kernel(132 * 8, 32), work, 1, {compiled(16)}).ns, of(kernel(132 * 8, 32), work).ns)
      << "16 registers hold 64 bytes";
  EXPECT_DOUBLE_EQ(of(kernel(132 * 64, 256), work, 1, {compiled(255)}).ns, of(kernel(132 * 64, 256), work).ns);
  KernelFacts other = compiled(16);
  other.entry = "other";
  EXPECT_DOUBLE_EQ(of(kernel(132 * 8, 32), work, 1, {other}).ns, of(kernel(132 * 8, 32), work).ns);
}

TEST(Bound, of_several_kernels_is_that_of_the_one_that_is_bound_the_least) {
  const std::vector<PlannedKernel> both{kernel(1, 32), kernel(1320, 256)};
  EXPECT_DOUBLE_EQ(bound_of(both, {kMuch, 0, false}, 1, big_gpu())->ns, of(kernel(1320, 256), {kMuch, 0, false}).ns);
}

TEST(Bound, is_not_known_where_facts_are_missing) {
  const std::vector<PlannedKernel> one{kernel(1, 32)};
  EXPECT_FALSE(bound_of(one, {kMuch, 0, false}, 1, emulator_facts()).has_value());
  EXPECT_FALSE(bound_of({}, {kMuch, 0, false}, 1, big_gpu()).has_value());
  for (int DeviceFacts::*fact : {&DeviceFacts::sm_count, &DeviceFacts::memory_bus_bits, &DeviceFacts::registers_per_sm,
                                 &DeviceFacts::max_threads_per_sm}) {
    DeviceFacts device = big_gpu();
    device.*fact = 0;
    EXPECT_FALSE(bound_of(one, {kMuch, 0, false}, 1, device).has_value());
  }
}

TEST(LikelyResidency, lets_a_persistent_grid_fill_the_device) {
  const Residency residency = likely_residency(big_gpu());
  EXPECT_EQ(residency.resident_blocks(kernel(1, 1024)), 264);
  PlannedKernel clustered = kernel(1, 1024, 200 << 10);
  clustered.cluster = {2, 1, 1};
  EXPECT_EQ(residency.max_active_clusters(clustered), 66);
}

}  // namespace
}  // namespace tilewright::testing::bound_test
