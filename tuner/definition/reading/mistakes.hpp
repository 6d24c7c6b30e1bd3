// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cache/base/error.hpp"
#include "tuner/definition/reading/toml_tree.hpp"

/// The mistakes found in one definition so far. Reading goes on after each, so that its author sees all at once.
namespace tilewright::reading {

class Mistakes {
 public:
  /// `file` as the diagnostics shall name it.
  explicit Mistakes(std::string file) : file_(std::move(file)) {}

  /// A mistake because of which the value at `place` is not usable.
  void add(Place place, std::string message);
  /// The same, found by the parser or evaluator of a formula, which knows the place. One at a place that has a mistake
  /// already says nothing new: a formula may be evaluated many times.
  void add(const DefinitionError& error);
  /// A mistake that leaves everything around it usable, such as a key that nobody asks for.
  void add_aside(Place place, std::string message);

  /// The number of unusable values: a part during whose reading this stays the same can be checked further.
  [[nodiscard]] std::size_t unusable() const noexcept { return unusable_; }
  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] const std::string& file_of(Place place) const noexcept { return place.file ? *place.file : file_; }
  /// Throws DefinitionError with every mistake, in the order of the file; returns when there is none.
  void throw_if_any() const;

 private:
  std::string file_;
  std::vector<Diagnostic> found_;
  std::size_t unusable_ = 0;
};

}  // namespace tilewright::reading
