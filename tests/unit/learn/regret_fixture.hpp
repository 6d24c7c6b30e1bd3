// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/launch/sample_cache.hpp"
#include "tuner/learn/learn.hpp"
#include "tuner/learn/regret.hpp"

/// Common parts of tests of regret: a cache of scale, and one large enough to learn from.
namespace tilewright::testing {

inline constexpr const char* kNarrow = "wide{num_warps=2,vec=4,static_dims=0}";
inline constexpr const char* kBroad = "wide{num_warps=8,vec=4,static_dims=0}";

class RegretTest : public ::testing::Test {
 protected:
  RegretTest() : cache_(folder_.path() / "cache.db") {
    cache_.add_op(interface_, scale_wide(), scale_kernels(), scale_binary());
    cache_.add_op(interface_, scale_plain(), scale_kernels(), scale_binary());
  }

  static std::string problem(std::int64_t rows, std::int64_t cols) {
    return "scale[dtype=f16]{rows=" + std::to_string(rows) + ",cols=" + std::to_string(cols) + "}";
  }
  /// Tunes a shape. `other_ns`: the time of the losing config; 0: it was not tried.
  void tune(std::int64_t rows, std::int64_t cols, const char* winner, double other_ns) {
    cache_.add_winner(interface_, problem(rows, cols), winner, {.role = WinnerRole::best, .median_ns = 100});
    if (other_ns <= 0) return;
    // The loser's trial is a copy of the winner's.
    const ProblemKey key{parse_problem(problem(rows, cols), interface_), interface_.hash(),
                         recording_device().fingerprint()};
    const WinnerRow row = *cache_.store().winner_of(key, MeasureMode::cold, WinnerRole::best);
    Trial lost = row.winner.trial;
    lost.config = Config::parse(winner == kNarrow ? kBroad : kNarrow);
    lost.timing->median_ns = other_ns;
    cache_.store().put_trial(key, row.implementation_hash, lost);
  }
  std::vector<Regret> ask(LeftOut left_out = LeftOut::relatives) {
    const OpSpec spec = parse_problem(problem(1, 4), interface_).spec;
    return regrets(cache_.store(), interface_, spec, recording_device(), MeasureMode::cold, {.left_out = left_out});
  }

  const OpInterface interface_ = scale_interface();
  TemporaryFolder folder_;
  SampleCache cache_;
};

/// Shapes of 128 rows and multiples of 64 columns. Many warps are best, except at kOdd columns, where few are.
class LearnedRegretTest : public RegretTest {
 protected:
  static constexpr std::int64_t kOdd = 64 * 10;
  static bool has_few_warps(const Config& config) { return config.value_or("num_warps", 0) <= 4; }

  void tune_columns(std::int64_t count, bool has_static_winners = false) {
    Store::Batch batch(cache_.store());
    for (std::int64_t i = 1; i <= count; ++i) tune_all(64 * i, has_static_winners);
    batch.commit();
  }
  /// Tries 42 configs: enough of either kind for a leaf of a tree.
  void tune_all(std::int64_t cols, bool has_static_winner) {
    cache_.add_winner(
        interface_, problem(128, cols),
        fmt::format("wide{{num_warps={},vec=4,static_dims={}}}", cols == kOdd ? 1 : 32, has_static_winner ? 1 : 0),
        {.median_ns = 1000});
    const ProblemKey key = key_of(cols);
    const WinnerRow row = *cache_.store().winner_of(key, MeasureMode::cold, WinnerRole::best);
    for (const int num_warps : {1, 2, 4, 8, 16, 32}) {
      for (const int vec : {1, 2, 4, 8, 16, 32, 64}) {
        Trial trial = row.winner.trial;
        trial.config = Config::parse(fmt::format("wide{{num_warps={},vec={},static_dims=0}}", num_warps, vec));
        if (trial.config == row.winner.trial.config) continue;
        const bool is_good = has_few_warps(trial.config) == (cols == kOdd);
        trial.timing->median_ns = is_good ? 1010 + num_warps + vec : 1700;
        cache_.store().put_trial(key, row.implementation_hash, trial);
      }
    }
  }
  [[nodiscard]] ProblemKey key_of(std::int64_t cols) const {
    return {parse_problem(problem(128, cols), interface_), interface_.hash(), recording_device().fingerprint()};
  }
  void learn_all() {
    const auto model = learn(cache_.store(), interface_, recording_device(), MeasureMode::cold);
    ASSERT_TRUE(model.has_value());
    cache_.store().put_loss_model(key_of(64), MeasureMode::cold, *model);
  }
  [[nodiscard]] std::vector<Regret> ask(const RegretSetting& setting) {
    return regrets(cache_.store(), interface_, key_of(64).problem.spec, recording_device(), MeasureMode::cold, setting);
  }
  /// Whether the whole cache would serve a config with few warps to a shape without its own winner.
  [[nodiscard]] bool would_get_few_warps(std::int64_t cols) {
    const Regret asked =
        ask({.left_out = LeftOut::itself, .servers = Servers::compiled, .judged = {{128, cols}}}).at(0);
    return has_few_warps(*asked.served);
  }
};

}  // namespace tilewright::testing
