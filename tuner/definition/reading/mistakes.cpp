// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/mistakes.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tilewright::reading {

void Mistakes::add(Place place, std::string message) {
  add_aside(place, std::move(message));
  ++unusable_;
}

void Mistakes::add(const DefinitionError& error) {
  for (const Diagnostic& mistake : error.mistakes()) {
    const auto is_there = [&](const Diagnostic& other) {
      return std::tie(other.file, other.line, other.column) == std::tie(mistake.file, mistake.line, mistake.column);
    };
    if (std::ranges::none_of(found_, is_there)) found_.push_back(mistake);
  }
  ++unusable_;
}

void Mistakes::add_aside(Place place, std::string message) {
  Diagnostic mistake{file_of(place), place.line, place.column, std::move(message)};
  // Implementations that share a fragment also share its mistakes.
  const auto is_it = [&](const Diagnostic& other) {
    return std::tie(other.file, other.line, other.column, other.message) ==
           std::tie(mistake.file, mistake.line, mistake.column, mistake.message);
  };
  if (std::ranges::none_of(found_, is_it)) found_.push_back(std::move(mistake));
}

void Mistakes::throw_if_any() const {
  if (found_.empty()) return;
  std::vector<Diagnostic> sorted = found_;
  // The definition's own mistakes precede those of its fragments.
  std::ranges::stable_sort(sorted, {}, [&](const Diagnostic& mistake) {
    return std::tuple(mistake.file != file_, mistake.file, mistake.line, mistake.column);
  });
  throw DefinitionError(std::move(sorted));
}

}  // namespace tilewright::reading
