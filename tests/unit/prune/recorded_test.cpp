// SPDX-License-Identifier: Apache-2.0
// The claims of docs/tuning.md about pruning, against recorded sweeps of an H200 (tests/unit/search/recorded).
// TILEWRIGHT_RECORDINGS=FILE:FILE… judges other recordings, too.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tuner/definition/catalogue.hpp"
#include "tuner/prune/pruner.hpp"
#include "tuner/search/leaders.hpp"
#include "tuner/search/recording_file.hpp"

namespace tilewright::testing::recorded_test {
namespace {

struct Sum {
  std::size_t problems = 0;
  std::size_t configs = 0;
  std::size_t pruned = 0;
  /// Pruned configs that are far slower, by their recorded times.
  std::size_t far_slower = 0;
  double fastest_pruned = std::numeric_limits<double>::infinity();
  /// The highest bound of a config within 1 % of its problem's best, over the yardstick's.
  double highest = 0;
  /// The largest factor by which a bound was too high.
  double too_high = 0;
};

/// The configs of one problem with their trials.
struct Played {
  std::vector<Trial> trials;
  std::vector<ImplementationRecipe> recipes;
};

Played read(const Store& store, const Store::Tried& tried) {
  Played played;
  for (const std::string& hash : tried.implementation_hashes) {
    const auto stored = store.implementation_by_hash(hash).value();
    for (Trial& trial : store.trials(tried.key, {hash}, tried.mode)) {
      if (!timed(trial)) continue;
      played.trials.push_back(std::move(trial));
      played.recipes.push_back(stored.recipe);
    }
  }
  return played;
}

double median(const Trial& trial) { return trial.timing->median_ns; }

void judge(const Store& store, const Store::Tried& tried, const OpDefinition& definition, bool compiled, Sum& sum) {
  const Played played = read(store, tried);
  if (played.trials.empty()) return;
  const Problem& problem = tried.key.problem;
  const OpInterface interface = store.interface_by_hash(tried.key.interface_hash).value();
  PruneSetting setting{&interface, &problem, {}, {}, definition.base};
  for (const DeviceFacts& device : store.devices()) {
    if (device.fingerprint() == tried.key.device_fingerprint) setting.device = device;
  }
  setting.work = {static_cast<double>(definition.bytes_of(problem)), static_cast<double>(definition.flops_of(problem)),
                  tried.mode == MeasureMode::hot};
  std::vector<Pruner::Entrant> entrants;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < played.trials.size(); ++i) {
    entrants.push_back({&played.trials[i].config, &played.recipes[i]});
    best = std::min(best, median(played.trials[i]));
  }
  const Pruner pruner(setting, entrants);
  std::vector<double> bounds;
  for (std::size_t i = 0; i < entrants.size(); ++i) bounds.push_back(pruner.bound_ns(i).value());
  std::sort(bounds.begin(), bounds.end());
  const double yardstick = bounds[std::min(bounds.size(), kYardstick) - 1];

  ++sum.problems;
  sum.configs += entrants.size();
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    const double slowness = median(played.trials[i]) / best;
    const double ratio = pruner.bound_ns(i).value() / yardstick;
    auto reason = pruner.before_compiling(i);
    if (!reason && compiled) {
      if (const auto build = store.build(played.trials[i].build_key))
        reason = pruner.after_compiling(i, build->kernels);
    }
    sum.too_high = std::max(sum.too_high, ratio / slowness);
    if (slowness <= 1.01) sum.highest = std::max(sum.highest, ratio);
    if (!reason) continue;
    ++sum.pruned;
    sum.far_slower += slowness > 1.5 ? 1U : 0U;
    sum.fastest_pruned = std::min(sum.fastest_pruned, slowness);
    EXPECT_GT(slowness, 1.01) << played.trials[i].config.text() << " on " << problem.key() << ": " << *reason;
  }
}

/// Judges a recording; returns sums by op.
std::map<std::string, Sum> judge_all(const std::filesystem::path& file, bool compiled) {
  Catalogue catalogue({}, TILEWRIGHT_TEST_KERNELS);
  const Store store = open_recording(file);
  std::map<std::string, Sum> sums;
  for (const Store::Tried& tried : store.tried()) {
    const std::string& op = tried.key.problem.spec.op;
    judge(store, tried, catalogue.find(op), compiled, sums[op]);
  }
  for (const auto& [op, sum] : sums) {
    std::cout << file.filename().string() << " " << op << (compiled ? " with registers" : "") << ": pruned "
              << sum.pruned << " of " << sum.configs << ", more than 1.5 times as slow " << sum.far_slower
              << ", the fastest of them " << sum.fastest_pruned << " times; highest bound within 1 % " << sum.highest
              << ", at worst too high by " << sum.too_high << "\n";
  }
  return sums;
}

Sum of_recording(const std::string& op, bool compiled = false) {
  return judge_all(std::filesystem::path(TILEWRIGHT_RECORDED) / (op + ".db.zst"), compiled).at(op);
}

TEST(PrunedRecordings, never_lose_a_config_within_one_per_cent_of_the_best_nor_come_near_it) {
  for (const char* op : {"softmax", "rmsnorm", "gemm"}) {
    const Sum sum = of_recording(op);
    EXPECT_GE(sum.problems, 12U) << op;
    // judge() expects pruned configs to be slower; these are the margins of the others.
    EXPECT_LT(sum.highest, 1.15) << op;
    EXPECT_LT(sum.too_high, 1.15) << op;
  }
}

TEST(PrunedRecordings, lose_of_gemm_what_leaves_multiprocessors_idle_and_most_of_it_is_far_slower) {
  const Sum sum = of_recording("gemm");
  EXPECT_GE(sum.pruned, 20U);
  EXPECT_GE(2 * sum.far_slower, sum.pruned);
  EXPECT_GE(sum.fastest_pruned, 1.2);
}

TEST(PrunedRecordings, that_are_named_hold_the_same) {
  const char* files = std::getenv("TILEWRIGHT_RECORDINGS");
  if (files == nullptr) GTEST_SKIP() << "TILEWRIGHT_RECORDINGS names none";
  std::stringstream list(files);
  for (std::string file; std::getline(list, file, ':');) {
    for (const bool compiled : {false, true}) {
      for (const auto& [op, sum] : judge_all(file, compiled)) EXPECT_LT(sum.highest, kHopelessBound) << file << op;
    }
  }
}

}  // namespace
}  // namespace tilewright::testing::recorded_test
