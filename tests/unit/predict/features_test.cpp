// SPDX-License-Identifier: Apache-2.0
#include "cache/predict/features.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cache/base/error.hpp"
#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright::features_test {
namespace {

using test::formula;
using test::formulas;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// A launch's features, in their order.
enum Launch : std::size_t {
  padding,
  blocks,
  threads,
  shared,
  cluster,
  of_sm,
  waves,
  idle,
  idle_and_padding,
  elements_of_block,
  bytes_of_block,
  elements_of_thread,
  threads_of_multiprocessor,
};
constexpr std::size_t kOfLaunch = 13;

DeviceFacts device() {
  DeviceFacts facts = emulator_facts();
  facts.name = "Fictional GPU";
  facts.compute_capability = 90;
  facts.sm_count = 132;
  facts.shared_per_sm = 233472;
  facts.shared_per_block_optin = 232448;
  facts.max_threads_per_sm = 2048;
  return facts;
}

/// An implementation with blocks of `block` rows.
ImplementationRecipe tiled(const std::string& grid, const std::string& shared_bytes = "0") {
  ImplementationRecipe recipe;
  recipe.name = "tiled";
  recipe.parameters = {"block", "threads"};
  recipe.constraints = formulas({"cols % 4 == 0"});
  recipe.covers = {{"rows", formula("block")}};
  KernelRecipe kernel;
  kernel.entry = "tiled";
  kernel.params = {{KernelParam::Kind::ptr, "x"}, {KernelParam::Kind::ptr, "y"}};
  kernel.grid = formulas({grid});
  kernel.block = formulas({"threads"});
  kernel.shared_bytes = formula(shared_bytes);
  recipe.kernels = {kernel};
  return recipe;
}

constexpr const char* kTiles = "ceil_div(rows, block)";
const Config kConfig = Config::parse("tiled{block=8,threads=1024}");

Problem softmax(std::int64_t rows, std::int64_t cols) {
  return make_problem(parse_spec("softmax[dtype=f16]", test::softmax()), test::softmax(),
                      std::vector<std::int64_t>{rows, cols});
}

class Features : public ::testing::Test {
 protected:
  [[nodiscard]] std::optional<std::vector<float>> of(const ImplementationRecipe& recipe, const Problem& problem,
                                                     const Config& config = kConfig,
                                                     const DeviceFacts& facts = device()) const {
    return space_.of(test::softmax(), "tiled", recipe, config, problem, facts);
  }
  [[nodiscard]] float at(const std::vector<float>& features, Launch which) const {
    return features.at(space_.count() - kOfLaunch + which);
  }
  /// A dim's feature: its length, or its alignment.
  [[nodiscard]] float dim(const std::vector<float>& features, std::size_t d, std::size_t which) const {
    return features.at(1 + space_.parameters.size() + 2 * d + which);
  }

  const FeatureSpace space_{{"another", "tiled", "tma"}, {"block", "threads", "vec"}, 2};
};

TEST_F(Features, are_as_many_as_the_space_counts) {
  EXPECT_THAT(of(tiled(kTiles), softmax(64, 256)).value(), SizeIs(space_.count()));
  const FeatureSpace small{{"tiled"}, {}, 2};
  const auto features = small.of(test::softmax(), "tiled", tiled(kTiles), kConfig, softmax(64, 256), device());
  EXPECT_THAT(features.value(), SizeIs(small.count())) << "what it does not name is not said";
  EXPECT_EQ(small.count(), 1 + 2 * 2 + kOfLaunch);
}

TEST_F(Features, say_which_implementation_it_is_and_what_its_parameters_are) {
  const std::vector<float> features = of(tiled(kTiles), softmax(64, 256)).value();
  EXPECT_EQ(features[0], 1) << "its place in the space";
  EXPECT_FLOAT_EQ(features[1], static_cast<float>(std::log2(9)));
  EXPECT_FLOAT_EQ(features[2], static_cast<float>(std::log2(1025)));
  EXPECT_EQ(features[3], -1) << "a parameter of others, which is not the value 0";
  ImplementationRecipe zero = tiled("ceil_div(rows, block + 1)");
  EXPECT_EQ(of(zero, softmax(64, 256), Config::parse("tiled{block=0,threads=32}")).value()[1], 0);
}

TEST_F(Features, tell_what_a_launch_leaves_idle_by_its_padding_and_its_last_wave) {
  const auto idle = [](std::int64_t rows, const ImplementationRecipe& recipe) {
    return std::exp(log_idle(test::softmax(), recipe, kConfig, softmax(rows, 256), device()));
  };
  // Two blocks fit on a multiprocessor by their threads: 264 in a wave, of eight rows each.
  EXPECT_DOUBLE_EQ(idle(264 * 8, tiled(kTiles)), 1);
  EXPECT_NEAR(idle(265 * 8, tiled(kTiles)), 528.0 / 265, 1e-12);
  EXPECT_NEAR(idle(264 * 8 - 4, tiled(kTiles)), 264.0 / 263.5, 1e-12) << "half of the last block pads";
  EXPECT_DOUBLE_EQ(idle(64, tiled("0")), 1) << "no launch";
}

TEST_F(Features, say_of_attributes_and_the_dtype_which_of_the_ops_values_they_have) {
  OpInterface interface = test::softmax();
  interface.dtypes = {DType::f32, DType::f16, DType::bf16};
  interface.attributes = {{"scaled", {"no", "yes"}}, {"mask", {"none", "causal", "window"}}};
  FeatureSpace space = space_;
  space.attributes = {"dtype", "mask"};
  EXPECT_EQ(space.count(), space_.count() + 2);
  const auto last_two = [&](const char* spec) {
    const Problem problem = make_problem(parse_spec(spec, interface), interface, std::vector<std::int64_t>{64, 256});
    const auto features = space.of(interface, "tiled", tiled(kTiles), kConfig, problem, device()).value();
    return std::pair(features.at(features.size() - 2), features.back());
  };
  EXPECT_EQ(last_two("softmax[dtype=f32]"), std::pair(0.0F, 0.0F));
  EXPECT_EQ(last_two("softmax[dtype=bf16,scaled=yes,mask=window]"), std::pair(2.0F, 2.0F));
  EXPECT_EQ(last_two("softmax[dtype=f16,mask=causal]"), std::pair(1.0F, 1.0F));
}

TEST_F(Features, describe_the_kernels_of_a_config_from_its_last_on) {
  ImplementationRecipe two = tiled("ceil_div(rows, 2 * block)");
  two.kernels.push_back(tiled(kTiles).kernels.front());
  FeatureSpace space = space_;
  space.kernels = 3;
  EXPECT_EQ(space.count(), space_.count() + 2 * kOfLaunch);
  const auto features = space.of(test::softmax(), "tiled", two, kConfig, softmax(64, 256), device()).value();
  ASSERT_THAT(features, SizeIs(space.count()));
  const auto blocks_of = [&](std::size_t from_last) {
    return features.at(space_.count() + (from_last - 1) * kOfLaunch + blocks);
  };
  EXPECT_EQ(blocks_of(0), 3) << "8 blocks in the last";
  EXPECT_EQ(blocks_of(1), 2) << "4 blocks in front of it";
  EXPECT_EQ(blocks_of(2), 0) << "there is no third";
  const auto of_last = of(two, softmax(64, 256)).value();
  EXPECT_EQ(std::vector(features.begin(), features.begin() + static_cast<std::ptrdiff_t>(of_last.size())), of_last);
}

TEST_F(Features, say_how_long_dims_are_and_how_they_are_aligned) {
  const auto alignment = [&](std::int64_t cols) { return dim(of(tiled(kTiles), softmax(7, cols)).value(), 1, 1); };
  EXPECT_EQ(alignment(4), 2);
  EXPECT_EQ(alignment(12), 2);
  EXPECT_EQ(alignment(24), 3);
  EXPECT_EQ(alignment(256), 8);
  EXPECT_EQ(alignment(4096), 8) << "more helps nothing";
  EXPECT_EQ(alignment(3 * 4096), 8);
  const std::vector<float> features = of(tiled(kTiles), softmax(7, 4096)).value();
  EXPECT_FLOAT_EQ(dim(features, 0, 0), static_cast<float>(std::log2(7)));
  EXPECT_EQ(dim(features, 0, 1), 0) << "odd";
  EXPECT_EQ(dim(features, 1, 0), 12);
}

TEST_F(Features, tell_how_much_work_is_in_how_many_blocks_and_how_full_the_last_wave_is) {
  // Two blocks of 1024 threads on each of 132 multiprocessors: 300 blocks are one full wave and a partial one.
  const std::vector<float> features = of(tiled(kTiles, "1000"), softmax(2399, 256)).value();
  const double padded = 2400.0 / 2399;
  EXPECT_NEAR(at(features, padding), std::log(padded), 1e-6);
  EXPECT_FLOAT_EQ(at(features, blocks), static_cast<float>(std::log2(300)));
  EXPECT_FLOAT_EQ(at(features, threads), 10);
  EXPECT_FLOAT_EQ(at(features, shared), static_cast<float>(std::log2(1001)));
  EXPECT_EQ(at(features, cluster), 0);
  EXPECT_EQ(at(features, of_sm), 2);
  EXPECT_FLOAT_EQ(at(features, waves), 300.0F / 264);
  EXPECT_NEAR(at(features, idle), std::log(2 * 264 / 300.0), 1e-6);
  EXPECT_NEAR(at(features, idle_and_padding), std::log(padded * 2 * 264 / 300.0), 1e-6);
  EXPECT_NEAR(at(features, elements_of_block), std::log2(8 * 256), 1e-5) << "with the padding";
  EXPECT_NEAR(at(features, bytes_of_block), std::log2(2 * 2 * 8 * 256), 1e-5) << "two arguments of two bytes";
  EXPECT_NEAR(at(features, elements_of_thread), std::log2(8 * 256 / 1024.0), 1e-5);
  EXPECT_NEAR(at(features, threads_of_multiprocessor), std::log2(300 / 132.0 * 1024), 1e-5) << "one after the other";
}

TEST_F(Features, count_blocks_of_a_multiprocessor_by_what_runs_out_first) {
  const auto resident = [&](const std::string& config, const std::string& shared_bytes, const DeviceFacts& facts) {
    return at(of(tiled(kTiles, shared_bytes), softmax(64, 256), Config::parse(config), facts).value(), of_sm);
  };
  EXPECT_EQ(resident("tiled{block=8,threads=512}", "0", device()), 4);
  EXPECT_EQ(resident("tiled{block=8,threads=32}", "0", device()), 32) << "no more than a device takes";
  EXPECT_EQ(resident("tiled{block=8,threads=32}", "76800", device()), 3) << "with what the device keeps back of each";
  EXPECT_EQ(resident("tiled{block=8,threads=32}", "200000", device()), 1);
  DeviceFacts unknown = device();
  unknown.max_threads_per_sm = 0;
  unknown.shared_per_sm = 0;
  EXPECT_EQ(resident("tiled{block=8,threads=1024}", "0", unknown), 32) << "of a device that says nothing of it";
}

TEST_F(Features, of_clusters_count_whole_ones_on_the_device) {
  ImplementationRecipe recipe = tiled("round_up(ceil_div(rows, block), 8)");
  recipe.kernels[0].cluster = formulas({"8"});
  const std::vector<float> features = of(recipe, softmax(2400, 256)).value();
  EXPECT_EQ(at(features, cluster), 3);
  EXPECT_FLOAT_EQ(at(features, waves), 304.0F / (16 * 8 * 2)) << "132 multiprocessors hold 16 clusters side by side";
}

TEST_F(Features, of_a_persistent_grid_tell_of_all_its_work) {
  const std::vector<float> all = of(tiled(kTiles), softmax(1 << 20, 256)).value();
  EXPECT_FLOAT_EQ(at(all, blocks), 17);
  EXPECT_EQ(at(all, waves), 64) << "more waves are as good as no waves";
  EXPECT_EQ(of(tiled("min(ceil_div(rows, block), max_active_clusters)"), softmax(1 << 20, 256)), all);
  EXPECT_EQ(of(tiled("min(ceil_div(rows, block), resident_blocks)"), softmax(1 << 20, 256)), all);
}

TEST_F(Features, are_there_for_a_grid_of_what_is_resident_alone) {
  const auto features = of(tiled("resident_blocks"), softmax(1 << 20, 256));
  ASSERT_TRUE(features.has_value());
  EXPECT_FLOAT_EQ(at(*features, blocks), static_cast<float>(std::log2(132))) << "a block on each multiprocessor";
}

TEST_F(Features, are_of_the_last_kernel) {
  ImplementationRecipe recipe = tiled(kTiles);
  recipe.kernels.insert(recipe.kernels.begin(), tiled("1").kernels[0]);
  EXPECT_EQ(of(recipe, softmax(2400, 256)), of(tiled(kTiles), softmax(2400, 256)));
}

TEST_F(Features, are_not_there_where_it_cannot_be_launched_or_nobody_knows_it) {
  EXPECT_FALSE(of(tiled(kTiles), softmax(64, 255)).has_value()) << "a constraint forbids it";
  EXPECT_FALSE(of(tiled(kTiles), softmax(64, 256), Config::parse("tiled{block=8,threads=2048}")).has_value());
  const auto named = [&](const std::string& hash) {
    return space_.of(test::softmax(), hash, tiled(kTiles), kConfig, softmax(64, 256), device()).has_value();
  };
  EXPECT_TRUE(named("tma"));
  EXPECT_FALSE(named("an"));
  EXPECT_FALSE(named("tile"));
  EXPECT_FALSE(named("zzz"));
  EXPECT_FALSE(named(""));
  EXPECT_FALSE(
      FeatureSpace{}.of(test::softmax(), "tiled", tiled(kTiles), kConfig, softmax(64, 256), device()).has_value());
}

TEST_F(Features, of_a_cover_without_a_value_are_those_of_no_padding) {
  ImplementationRecipe broken = tiled(kTiles);
  broken.covers = {{"rows", formula("block / (cols - 256)")}};
  ImplementationRecipe none = tiled(kTiles);
  none.covers.clear();
  EXPECT_EQ(of(broken, softmax(2399, 256)), of(none, softmax(2399, 256)));
  EXPECT_EQ(at(of(broken, softmax(2399, 256)).value(), padding), 0);
}

TEST_F(Features, of_a_definitions_mistake_are_an_error) {
  const std::string said =
      test::error_of<DefinitionError>([&] { (void)of(tiled("ceil_div(rows, blok)"), softmax(64, 256)); });
  EXPECT_THAT(said, HasSubstr("blok"));
}

TEST_F(Features, are_finite_at_the_smallest_and_at_great_shapes) {
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{1, 4}, {1 << 24, 1 << 20}, {1, 1 << 30}}) {
    const std::vector<float> features = of(tiled(kTiles), softmax(rows, cols)).value();
    for (const float each : features) {
      EXPECT_TRUE(std::isfinite(each)) << rows << " " << cols;
    }
  }
}

}  // namespace
}  // namespace tilewright::features_test
