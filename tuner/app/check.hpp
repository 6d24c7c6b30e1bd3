// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "tuner/app/place.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/app/work.hpp"
#include "tuner/report/table.hpp"

/// Checks an op in seconds, before it is swept: reads its definition, runs its base and a few configs of each
/// implementation on the emulator, and compiles one of each for a GPU. Times nothing, and writes to no cache.
namespace tilewright::app {

struct CheckRequest {
  Place place;
  /// Its devices are ignored.
  Work work;
  /// All dims of a problem, or none: the smallest and the largest problem of default_shapes() on the emulator.
  ProblemWords problem;
  /// The architecture to compile for, see facts_of_arch(); if empty, nothing is compiled for a GPU.
  std::string arch = "sm_90a";
};

struct CheckResult {
  /// One row for each check, in order.
  Table table;
  std::size_t wrong = 0;
  /// If true, missing rows were not checked.
  bool cancelled = false;
};

/// Throws DefinitionError with all mistakes of the definition, UsageError for names that the op does not have.
[[nodiscard]] CheckResult check(const CheckRequest& request, Listener& listener);

}  // namespace tilewright::app
