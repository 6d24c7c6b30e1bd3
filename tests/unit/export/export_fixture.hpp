// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/store/fixture.hpp"
#include "tuner/export/trial_records.hpp"

/// A cache with trials of every fate.
namespace tilewright::export_tests {

inline constexpr TrialStatus kFates[]{
    TrialStatus::ok,        TrialStatus::compile_failed, TrialStatus::exceeds_limits, TrialStatus::wrong_result,
    TrialStatus::timed_out, TrialStatus::crashed,        TrialStatus::pruned};

class ExportTest : public testing::Test {
 protected:
  std::int64_t put(const ProblemKey& key, Trial trial) { return store.put_trial(key, "impl-1", trial); }

  /// One trial of each fate on one problem, the config's num_warps telling which.
  void put_fates() {
    std::int64_t warps = 1;
    for (const TrialStatus status : kFates) {
      Trial trial = store_tests::full_trial(store_tests::onchip_config(warps));
      warps *= 2;
      trial.status = status;
      if (status != TrialStatus::ok) {
        trial.timing.reset();
        trial.accuracy.reset();
        trial.reason = "why it is " + std::string(name(status));
      }
      if (status == TrialStatus::pruned) trial.readings = {};
      put(store_tests::softmax_key(8, 100), trial);
    }
  }
  [[nodiscard]] TrialRecords records(TrialSelection selection = {}) const {
    return {store, std::move(selection), [](const std::string&) { return nullptr; }};
  }

  store_tests::TemporaryFolder folder;
  Store store = store_tests::prepared_store(folder / "c.db");
};

}  // namespace tilewright::export_tests
