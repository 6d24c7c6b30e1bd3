// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "tuner/app/sweep.hpp"

/// A campaign file (docs/tuning.md): ops with dtypes, attributes and shapes; devices; a budget.
namespace tilewright::app {

struct Campaign {
  std::string name;
  std::vector<ProblemGrid> grids;
  /// Empty if the file names none.
  std::vector<std::string> devices;
  /// The budget of all grids together; 0 if the file has none.
  std::chrono::nanoseconds budget{0};
};

/// Files that it names are relative to its folder. Throws UsageError if it cannot be read, DefinitionError with the
/// place of each mistake. sweep() checks its names against the ops.
[[nodiscard]] Campaign read_campaign(const std::filesystem::path& file);

}  // namespace tilewright::app
