// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cache/base/error.hpp"
#include "tuner/definition/reading/toml_tree.hpp"

/// Collects the mistakes of one definition. Reading continues after each, so that its author sees all at once.
namespace tilewright::reading {

class Mistakes {
 public:
  /// `file` is the name in diagnostics.
  explicit Mistakes(std::string file) : file_(std::move(file)) {}

  /// Adds a mistake that makes the value at `place` unusable.
  void add(Place place, std::string message);
  /// Adds a mistake of a formula's parser or evaluator, with its own place. Only the first at a place is kept, because
  /// a formula may be evaluated many times.
  void add(const DefinitionError& error);
  /// Adds a mistake that leaves everything around it usable, such as an unknown key.
  void add_aside(Place place, std::string message);

  /// The number of unusable values. A part whose reading does not change it can be checked further.
  [[nodiscard]] std::size_t unusable() const noexcept { return unusable_; }
  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] const std::string& file_of(Place place) const noexcept { return place.file ? *place.file : file_; }
  /// Throws DefinitionError with all mistakes in the order of the file, if there are any.
  void throw_if_any() const;

 private:
  std::string file_;
  std::vector<Diagnostic> found_;
  std::size_t unusable_ = 0;
};

}  // namespace tilewright::reading
