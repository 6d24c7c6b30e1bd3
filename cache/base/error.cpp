// SPDX-License-Identifier: Apache-2.0
#include "cache/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace tilewright {
namespace {

std::string joined(const std::vector<Diagnostic>& mistakes) {
  std::string text;
  for (const Diagnostic& mistake : mistakes) {
    if (!text.empty()) text += '\n';
    text += mistake.text();
  }
  return text;
}

/// Counts letters changed, added, left out, or exchanged with the next (optimal string alignment), row by row.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool is_exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string Diagnostic::text() const {
  if (line == 0) return fmt::format("{}: {}", file, message);
  return fmt::format("{}:{}:{}: {}", file, line, column, message);
}

DefinitionError::DefinitionError(std::vector<Diagnostic> mistakes)
    : UsageError(joined(mistakes)), mistakes_(std::move(mistakes)) {}

std::string nearest_name(const std::string& word, const std::vector<std::string>& candidates) {
  std::string nearest;
  // In a word of three letters, two changes make another word: fp8 is not f32.
  std::size_t best = (word.size() <= 3 ? 1 : std::max<std::size_t>(2, word.size() / 3)) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    // A candidate with all letters changed is another word.
    if (distance < best && distance < std::max(word.size(), candidate.size())) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string suggestion(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(word, candidates);
  if (!nearest.empty()) return fmt::format("; did you mean '{}'?", nearest);
  if (candidates.empty()) return "; there are none";
  return fmt::format("; known: {}", fmt::join(candidates, ", "));
}

}  // namespace tilewright
