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
  found_.insert(found_.end(), error.mistakes().begin(), error.mistakes().end());
  ++unusable_;
}

void Mistakes::add_aside(Place place, std::string message) {
  found_.push_back({file_, place.line, place.column, std::move(message)});
}

void Mistakes::throw_if_any() const {
  if (found_.empty()) return;
  std::vector<Diagnostic> sorted = found_;
  std::ranges::stable_sort(sorted, {}, [](const Diagnostic& mistake) {
    return std::tuple(mistake.line, mistake.column);
  });
  // A formula that several evaluations refuse is one mistake.
  const auto same = [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.line, a.column, a.message) == std::tie(b.line, b.column, b.message);
  };
  sorted.erase(std::unique(sorted.begin(), sorted.end(), same), sorted.end());
  throw DefinitionError(std::move(sorted));
}

}  // namespace tilewright::reading
