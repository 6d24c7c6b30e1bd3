// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "tuner/app/place.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/app/work.hpp"
#include "tuner/learn/spares.hpp"
#include "tuner/report/table.hpp"

/// Binaries for shapes that were never tuned: learns of an op's trials, and compiles the configs that serve most.
namespace tilewright::app {

/// A config that was timed is a spare, too, where it was within this share of the best such config of a tuned shape.
inline constexpr double kSpareWithin = kNearlyBest;

struct PrepareRequest {
  Place place;
  Work work;
  /// The op, dtype and attributes; no dims.
  ProblemWords specs;
  /// As choose_devices() takes it; empty: all of the cache.
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  /// So many spares of each dtype and attributes, those that are there included.
  std::size_t configs = 32;
};

struct PrepareResult {
  Table table;
  bool cancelled = false;
};

/// Throws UsageError for dims and names that the op does not have, Error where the cache has no winner of it.
[[nodiscard]] PrepareResult prepare(const PrepareRequest& request, Listener& listener);

}  // namespace tilewright::app
