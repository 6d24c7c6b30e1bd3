// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tuner/app/place.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/app/work.hpp"
#include "tuner/report/table.hpp"

/// Checks configs against the op's reference on a device, with the errors of each output. Nothing is timed, and nothing
/// is written to the cache.
namespace tilewright::app {

struct VerifyRequest {
  Place place;
  Work work;
  /// See choose_problems().
  ProblemWords problems;
  MeasureMode mode = MeasureMode::cold;
  /// "all", "base", or configs; empty: the winner, else the base.
  std::vector<std::string> configs;
  /// The most configs of "all"; 0: no bound. nullopt: usual_max_configs().
  std::optional<std::size_t> max_configs;
};

struct VerifyResult {
  Table table;
  /// Lines that are not right.
  std::size_t wrong = 0;
  /// If true, missing rows were not checked.
  bool cancelled = false;
};

/// nullopt if cancelled before anything ran, with a warning.
[[nodiscard]] std::optional<VerifyResult> verify(const VerifyRequest& request, Listener& listener);

}  // namespace tilewright::app
