// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cache/model/not_reached.hpp"
#include "cache/store/import.hpp"
#include "tests/unit/store/fixture.hpp"

/// Common parts of tests of imports: two caches, and trials with all records that travel with a winner.
namespace tilewright::store_tests {

inline const std::vector<std::byte> kBinary(5000, std::byte{42});

/// A trial with a build, measured in `rounds` rounds, with a confidence interval of `interval` times its median.
inline Trial evidence(Store& store, const Config& config, double interval = 0.01, std::size_t rounds = 20) {
  Build build;
  build.key = "build of " + config.text();
  build.ok = true;
  build.arch = "sm_90a";
  build.log = "ptxas info    : Used 40 registers";
  store.put_build(build, kBinary);
  Trial trial = full_trial(config);
  trial.build_key = build.key;
  trial.timing->low_ns = 1000 * (1 - interval / 2);
  trial.timing->high_ns = 1000 * (1 + interval / 2);
  trial.timing->rounds_ns.assign(rounds, 1000);
  return trial;
}

/// Makes the trial a winner, with `not_reached` configs not reached.
inline void put_best(Store& store, const ProblemKey& key, const Trial& trial, int not_reached = 0) {
  const std::int64_t id = store.put_trial(key, "impl-1", trial);
  std::vector<Winner> winners = {winner_of(id), winner_of(id, WinnerRole::dynamic)};
  if (not_reached > 0) {
    for (Winner& winner : winners) winner.choice.pruned[kNotReached] = not_reached;
  }
  store.put_winners(key, MeasureMode::cold, winners);
}

class ImportedWinners : public testing::Test {
 protected:
  ImportedWinners() : from(prepared_store(folder / "from.db")), to(folder / "to.db") {}

  Trial winner(const Store& store) { return store.winners(key, MeasureMode::cold).at(0).trial; }

  TemporaryFolder folder;
  Store from, to;
  ProblemKey key = softmax_key(8, 100);
};

}  // namespace tilewright::store_tests
