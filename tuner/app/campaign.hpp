// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "tuner/app/sweep.hpp"

/// A campaign, as a file (docs/tuning.md): ops with dtypes, attributes and shapes; devices; a budget.
namespace tilewright::app {

struct Campaign {
  std::string name;
  std::vector<ProblemGrid> grids;
  /// Empty: not said.
  std::vector<std::string> devices;
  /// The budget of everything; 0: not said.
  std::chrono::nanoseconds budget{0};
};

/// Files that it names are beside it. Throws UsageError where it cannot be read, DefinitionError with every mistake and
/// its place; sweep() checks that the ops have the names.
[[nodiscard]] Campaign read_campaign(const std::filesystem::path& file);

}  // namespace tilewright::app
