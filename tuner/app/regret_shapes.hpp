// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/learn/drawn_shapes.hpp"

/// The shapes that `regret` judges: all tuned ones, or the named or drawn ones.
namespace tilewright::app {

class RegretMeasure;

/// The judged shapes of one op, dtype and attributes on one device.
struct JudgedShapes {
  DeviceFacts device;
  OpSpec spec;
  /// Empty: all tuned shapes.
  std::vector<ShapeDims> shapes{};
  /// The shapes without a winner in the cache.
  std::vector<Problem> untuned{};
};

/// The judged shapes of each spec that has winners on these devices and matches the words: shapes that the words or the
/// file name (an empty path names none), and shapes that `measure` draws if `seeded` is not 0. Adds to `notes`. Throws
/// UsageError for words that the op does not have, and as read_shapes_csv().
[[nodiscard]] std::vector<JudgedShapes> judged_shapes(const Store& store, const ProblemWords& words,
                                                      const std::filesystem::path& shapes_file,
                                                      const OpInterface& interface,
                                                      const std::vector<DeviceFacts>& devices, MeasureMode mode,
                                                      std::size_t seeded, const RegretMeasure* measure,
                                                      std::vector<std::string>& notes);

}  // namespace tilewright::app
