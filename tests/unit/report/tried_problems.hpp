// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tuner/report/tried.hpp"

/// Made-up trials of the op `demo` on a made-up GPU, for tables.
namespace tilewright::testing {

inline DeviceFacts made_up_gpu() {
  DeviceFacts facts = emulator_facts();
  facts.name = "Fictional GPU";
  facts.compute_capability = 90;
  facts.sm_count = 100;
  return facts;
}

/// A trial with an interval of ±0.2 % of `median_ns`; 0: a failed trial.
inline Trial made_up_trial(const std::string& config, double median_ns) {
  Trial trial;
  trial.config = Config::parse(config);
  trial.versions = {13000, "NVRTC 13.0", "1.0"};
  if (median_ns <= 0) {
    trial.status = TrialStatus::compile_failed;
    trial.reason = "ptxas says no";
    return trial;
  }
  Timing& timing = trial.timing.emplace();
  timing.median_ns = median_ns;
  timing.low_ns = 0.998 * median_ns;
  timing.high_ns = 1.002 * median_ns;
  return trial;
}

/// demo[dtype=bf16]{rows=`rows`,cols=64}; the winner is the fastest.
inline TriedProblem tried_problem(std::int64_t rows, const std::vector<std::pair<std::string, double>>& configs) {
  TriedProblem problem;
  problem.device = made_up_gpu();
  problem.key = {{{"demo", DType::bf16, {}}, {{"rows", rows}, {"cols", 64}}}, "", problem.device.fingerprint()};
  double best = 0;
  for (const auto& [config, median_ns] : configs) {
    problem.configs.push_back({made_up_trial(config, median_ns), ""});
    if (median_ns <= 0 || (best > 0 && median_ns >= best)) continue;
    best = median_ns;
    problem.winner = problem.configs.back().trial.config;
  }
  return problem;
}

}  // namespace tilewright::testing
