// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "tuner/app/place.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/app/work.hpp"
#include "tuner/report/table.hpp"

/// An op looked at before it is swept, in seconds: its definition is read, its base and a few configs of each
/// implementation run on the emulator, and one of each is compiled for a GPU. Nothing is timed, and nothing is written
/// to a cache.
namespace tilewright::app {

struct CheckRequest {
  Place place;
  /// Its devices are not asked.
  Work work;
  /// All dims of a problem, or none: then the smallest and the largest problem of a bare sweep on the emulator.
  ProblemWords problem;
  /// Compiled for, as facts_of_arch() takes it; empty: for none.
  std::string arch = "sm_90a";
};

struct CheckResult {
  /// A line for what was checked, in order.
  Table table;
  std::size_t wrong = 0;
  /// True: missing results were not checked.
  bool cancelled = false;
};

/// Throws DefinitionError with every mistake of the definition, UsageError for names that the op does not have.
[[nodiscard]] CheckResult check(const CheckRequest& request, Listener& listener);

}  // namespace tilewright::app
