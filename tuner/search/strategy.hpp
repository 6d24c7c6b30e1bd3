// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/store/records.hpp"

/// What to try next. A strategy sees candidates by index and the trials they became; it never touches a device, a
/// compiler or the store, so it can be run against recorded trials as well.
namespace tilewright {

class Strategy {
 public:
  virtual ~Strategy() = default;
  /// The next candidate to measure; nothing when the search is over. May be asked ahead of the answers.
  [[nodiscard]] virtual std::optional<std::size_t> ask() = 0;
  /// What became of a candidate, in any order. Called once for each asked, and first for those already in the cache.
  virtual void tell(std::size_t candidate, const Trial& trial) = 0;
  [[nodiscard]] virtual std::string name() const = 0;
};

/// Every candidate once, in order, those already told left out.
[[nodiscard]] std::unique_ptr<Strategy> exhaustive(std::size_t candidates);

/// The winner's rules over finished trials: fastest `ok` trial; among those whose intervals overlap the fastest's, the
/// one first in the definition's order (a rule that is the same every time). Returns rows for the roles best, dynamic
/// and base, those that exist.
[[nodiscard]] std::vector<Winner> choose_winners(const std::vector<Trial>& trials, const Config& base,
                                                 const std::string& strategy);

}  // namespace tilewright
