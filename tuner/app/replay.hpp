// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/app/place.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/report/table.hpp"

/// Replays strategies on the trials of exhaustive sweeps, without a device: what each strategy tries, how long it
/// measures, and how much slower its winner is.
namespace tilewright::app {

struct ReplayRequest {
  Place place;
  /// A cache, or a file that `export --trials` wrote.
  std::filesystem::path recording;
  /// Empty: all.
  std::vector<std::string> strategies;
  /// nullopt: all ops.
  std::optional<ProblemWords> problems;
  std::vector<std::string> shapes;
  std::filesystem::path shapes_file;
  /// As NAME and VALUES, dtype included.
  std::vector<std::pair<std::string, std::string>> attributes;
  /// A part of the fingerprint; empty: any.
  std::string device;
  std::uint64_t seed = 1;
  /// 0: no bound.
  std::size_t max_trials = 0;
};

/// Throws UsageError if no recording matches the request, Error if there is none.
[[nodiscard]] Table replay(const ReplayRequest& request);

}  // namespace tilewright::app
