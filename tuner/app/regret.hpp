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
  /// Dims and the file name the shapes to judge; without either, each tuned shape is left out in turn.
  ProblemWords problems;
  std::filesystem::path shapes_file;
  /// See choose_devices(); empty: all. Ignored if `measuring` is set.
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  /// The shapes left out, and the candidates that serve.
  RegretSetting setting;
  /// Whether each shape has a row, not each region.
  bool each = false;

  struct Measuring {
    /// The tuning of untuned shapes; its seed draws shapes.
    Tuning tuning;
    /// How many shapes of each spec are drawn.
    std::size_t seeded = 0;
    /// See read_bounds().
    std::string within;
    /// The cache that keeps the measurements; empty: they are forgotten.
    std::filesystem::path into;
  };
  /// Times configs without a time; nullopt leaves their losses unknown, and the result says so.
  std::optional<Measuring> measuring;
};

struct RegretResult {
  Table table;
  std::size_t shapes = 0;
  /// Shapes on which the served config is wrong or fails.
  std::size_t failed = 0;
  bool cancelled = false;
};

/// nullopt if cancelled before a measurement. Throws UsageError for words that the cache or the op does not have.
[[nodiscard]] std::optional<RegretResult> regret(const RegretRequest& request, Listener& listener);

}  // namespace tilewright::app
