// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "tuner/app/problem_words.hpp"
#include "tuner/app/tuning.hpp"
#include "tuner/learn/regret.hpp"

/// The loss of shapes that are left out of a cache: how much slower it serves them than their best config.
namespace tilewright::app {

struct RegretRequest {
  Place place;
  /// Dims name shapes, and so does the file, where it is not empty; without either each tuned shape is left out in
  /// turn.
  ProblemWords problems;
  std::filesystem::path shapes_file;
  /// As choose_devices() takes it; empty: all. Of no account where it is measured.
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  /// The shapes left out, and the candidates that serve.
  RegretSetting setting;
  /// A row a shape, not a region.
  bool each = false;

  struct Measuring {
    /// The tuning of shapes that are not tuned; its seed draws shapes.
    Tuning tuning;
    /// So many shapes of each spec are drawn.
    std::size_t seeded = 0;
    /// A cache for what is measured; empty: it is forgotten.
    std::filesystem::path into;
  };
  /// Times configs without a time. Nothing: their losses stay unknown, and the result says so.
  std::optional<Measuring> measuring;
};

struct RegretResult {
  Table table;
  std::size_t shapes = 0;
  /// Shapes whose served config is wrong or fails there.
  std::size_t failed = 0;
  bool cancelled = false;
};

/// Nothing when cancelled before anything was measured. Throws UsageError for what the cache or the op does not have.
[[nodiscard]] std::optional<RegretResult> regret(const RegretRequest& request, Listener& listener);

}  // namespace tilewright::app
