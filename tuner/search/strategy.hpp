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

/// The winners of one problem: rows for the roles `best` (all configs), `dynamic` (those without specialised dims) and
/// `base` (the op's fallback), those that exist. `trials` are one problem's, in the definition's order, failures
/// included.
///
/// The rule, for best and for dynamic alike: take the trial with the smallest median; all whose 95 % interval overlaps
/// its interval and whose median is within 1 % of its are tied with it; of the tied, the one first in the definition's
/// order wins. It depends on the trials and their order alone, so the same figures give the same winner every time,
/// and a definition can list first what it prefers. The runner-up is the next best by median, so its ratio is below 1
/// where the rule chose among tied configs.
[[nodiscard]] std::vector<Winner> choose_winners(const std::vector<Trial>& trials, const Config& base,
                                                 const std::string& strategy);

}  // namespace tilewright
