// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cache/model/interface.hpp"
#include "tuner/definition/reading/vocabulary.hpp"

/// The arguments of an op: `args` of its definition.
namespace tilewright::reading {

struct ArgumentList {
  std::vector<Argument> args;
  /// The place of each argument's table.
  std::vector<Place> places;
  /// Whether each argument's role, type and shape are without a mistake.
  std::vector<bool> sound;
  /// False if a name could not be read. Then no argument is reported as unknown.
  bool complete = true;

  [[nodiscard]] const Argument* find(std::string_view name) const noexcept;
  /// Names of the tensors, or of the scalars.
  [[nodiscard]] std::vector<std::string> names(bool scalars) const;
};

[[nodiscard]] ArgumentList read_arguments(const Node& list, const Vocabulary& vocabulary, Mistakes& mistakes);

/// The named dtype. On failure: nullopt, and a mistake with the nearest name.
[[nodiscard]] std::optional<DType> read_dtype(const Node& text, const std::string& what, Mistakes& mistakes);

}  // namespace tilewright::reading
