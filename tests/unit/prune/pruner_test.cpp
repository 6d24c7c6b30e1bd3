// SPDX-License-Identifier: Apache-2.0
#include "tuner/prune/pruner.hpp"

#include <gtest/gtest.h>

namespace tilewright::testing::pruner_test {
namespace {

/// An op whose parameters are the numbers of blocks and threads.
class PrunerTest : public ::testing::Test {
 protected:
  PrunerTest() {
    interface_.op = "op";
    interface_.dims = {"n"};
    interface_.dtypes = {DType::f32};
    problem_ = make_problem(parse_spec("op", interface_), interface_, std::vector<std::int64_t>{4096});
    recipe_.name = "p";
    recipe_.parameters = {"blocks", "threads"};
    KernelRecipe kernel;
    kernel.entry = "k";
    kernel.grid = {Formula::parse("blocks")};
    kernel.block = {Formula::parse("threads")};
    recipe_.kernels = {kernel};
    setting_.interface = &interface_;
    setting_.problem = &problem_;
    setting_.device = emulator_facts();
    setting_.device.compute_capability = 90;
    setting_.device.sm_count = 132;
    setting_.device.memory_bus_bits = 6144;
    setting_.work = {1e9, 0, false};
  }

  static Config config(std::int64_t blocks, std::int64_t threads) {
    return {"p", {{"blocks", blocks}, {"threads", threads}}};
  }

  Pruner pruner(const std::vector<Config>& configs) {
    configs_ = configs;
    std::vector<Pruner::Entrant> entrants;
    for (const Config& each : configs_) entrants.push_back({&each, &recipe_});
    return {setting_, entrants};
  }

  /// A pruner of `first` and `more` configs that fill the device.
  Pruner among(const Config& first, std::size_t more = kYardstick) {
    std::vector<Config> configs{first};
    for (std::size_t i = 0; i < more; ++i) configs.push_back(config(1320 + static_cast<std::int64_t>(i), 256));
    return pruner(configs);
  }

  OpInterface interface_;
  Problem problem_;
  ImplementationRecipe recipe_;
  PruneSetting setting_;
  std::vector<Config> configs_;
};

TEST_F(PrunerTest, leaves_out_what_cannot_win_and_says_why) {
  const auto reason = among(config(3, 256)).before_compiling(0);
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->find("model: fills 3 of 132 SMs; at best 16× slower than p{blocks=13"), 0U) << *reason;
}

TEST_F(PrunerTest, leaves_out_none_that_is_bound_like_the_others) {
  const Pruner all = among(config(1320, 128));
  for (std::size_t i = 0; i <= kYardstick; ++i) EXPECT_EQ(all.before_compiling(i), std::nullopt) << i;
}

TEST_F(PrunerTest, never_leaves_out_the_base) {
  setting_.base = config(3, 256);
  const Pruner all = among(setting_.base);
  EXPECT_EQ(all.before_compiling(0), std::nullopt);
  EXPECT_EQ(all.after_compiling(0, {{"k", "_Zk", 255, 4096, 4096, 0, 0}}), std::nullopt);
}

TEST_F(PrunerTest, leaves_out_nothing_unless_several_others_are_better) {
  EXPECT_EQ(among(config(3, 256), kYardstick - 1).before_compiling(0), std::nullopt);
}

TEST_F(PrunerTest, leaves_out_nothing_where_the_device_says_too_little) {
  setting_.device.memory_bus_bits = 0;
  const Pruner all = among(config(3, 256));
  EXPECT_EQ(all.before_compiling(0), std::nullopt);
  EXPECT_EQ(all.bound_ns(0), std::nullopt);
  EXPECT_EQ(all.after_compiling(0, {{"k", "_Zk", 16, 0, 0, 0, 0}}), std::nullopt);
}

TEST_F(PrunerTest, leaves_out_none_because_blocks_of_others_take_pieces_in_turns) {
  setting_.work = {0, 1e12, false};
  // 180 pieces need two waves of 132 multiprocessors, in which they are as fast as 90 pieces twice as large.
  std::vector<Config> configs{config(90, 256)};
  for (std::size_t i = 0; i < kYardstick; ++i) configs.push_back(config(180, 256 + 32 * static_cast<std::int64_t>(i)));
  EXPECT_EQ(pruner(configs).before_compiling(0), std::nullopt);
  recipe_.kernels[0].grid = {Formula::parse("min(blocks, sm_count)")};
  EXPECT_EQ(pruner(configs).before_compiling(0), std::nullopt);
  // 132 pieces do not.
  for (std::size_t i = 1; i < configs.size(); ++i) configs[i].values.at(0).second = 132;
  EXPECT_TRUE(pruner(configs).before_compiling(0).has_value());
}

TEST_F(PrunerTest, leaves_out_what_the_compiler_left_few_registers_for) {
  // 8 blocks of 32 threads: with 64 registers each, enough data are in flight; with 16, too few.
  const Pruner all = among(config(132 * 4, 32));
  EXPECT_EQ(all.before_compiling(0), std::nullopt);
  EXPECT_EQ(all.after_compiling(0, {{"k", "_Zk", 64, 0, 0, 0, 0}}), std::nullopt);
  const auto reason = all.after_compiling(0, {{"k", "_Zk", 16, 0, 0, 0, 0}});
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->find("occupancy: 16 registers a thread: 128 threads on an SM keep"), 0U) << *reason;
}

TEST_F(PrunerTest, does_not_judge_by_spills_since_they_bound_nothing) {
  const Pruner all = among(config(132 * 4, 32));
  EXPECT_EQ(all.after_compiling(0, {{"k", "_Zk", 255, 4096, 4096, 0, 0}}), std::nullopt);
}

}  // namespace
}  // namespace tilewright::testing::pruner_test
