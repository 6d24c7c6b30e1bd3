// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "tuner/app/place.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/app/work.hpp"
#include "tuner/learn/spares.hpp"
#include "tuner/report/table.hpp"

/// Prepares binaries for untuned shapes: learns from an op's trials, and compiles the configs that serve most.
namespace tilewright::app {

/// A spec with fewer spares gets configs that were nearly the best at a tuned shape.
inline constexpr std::size_t kFewSpares = 32;
/// Spares of a spec with fewer tuned shapes serve the range of the whole op.
inline constexpr std::size_t kShapesOfItsOwn = 16;

struct PrepareRequest {
  Place place;
  Work work;
  /// The op, dtype and attributes; no dims.
  ProblemWords specs;
  /// See choose_devices(); empty: all of the cache.
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  /// The most spares that are added to each dtype and attributes because they help; and as many at most, up to
  /// kMostCovering, for shapes that are served poorly.
  std::size_t configs = 128;
};

struct PrepareResult {
  Table table;
  bool cancelled = false;
};

/// Throws UsageError for dims and for names that the op does not have, Error if the cache has no winner of the op.
[[nodiscard]] PrepareResult prepare(const PrepareRequest& request, Listener& listener);

}  // namespace tilewright::app
