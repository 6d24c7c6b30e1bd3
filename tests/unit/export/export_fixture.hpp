// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/unit/store/fixture.hpp"
#include "tuner/export/trial_records.hpp"

/// A cache with trials of all fates.
namespace tilewright::export_tests {

inline constexpr TrialStatus kFates[]{
    TrialStatus::ok,        TrialStatus::compile_failed, TrialStatus::exceeds_limits, TrialStatus::wrong_result,
    TrialStatus::timed_out, TrialStatus::crashed,        TrialStatus::pruned};

class ExportTest : public ::testing::Test {
 protected:
  std::int64_t put(const ProblemKey& key, Trial trial) { return store.put_trial(key, "impl-1", trial); }

  /// Adds one trial of each fate to one problem; num_warps identifies the fate.
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
    return {store, std::move(selection), [this](const std::string&) { return definition ? &*definition : nullptr; }};
  }
  /// Defines softmax as a product on tensor cores: 800 bytes and 800,000 operations a row of 100, with both ceilings.
  void put_roofline() {
    definition.emplace().interface = store_tests::softmax_interface();
    definition->bytes = Formula::parse("8 * rows * cols");
    definition->flops = Formula::parse("8000 * rows * cols");
    definition->tensor_cores = Formula::parse("dtype == 'bf16'");
    const std::string device = store_tests::h200().fingerprint();
    store.put_ceiling(device, {6400, 1, MeasureMode::cold, std::nullopt, 2, "GPU-1", 5});
    store.put_compute_rate(device, {8e12, "", "GPU-1", 5, "tensor_bf16"});
  }

  std::optional<OpDefinition> definition;
  store_tests::TemporaryFolder folder;
  Store store = store_tests::prepared_store(folder / "c.db");
};

}  // namespace tilewright::export_tests
