// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/search/strategy.hpp"

/// The search for one problem's winners: a strategy, the bound of its trials, what became of every candidate, and at
/// the end the final. A sweep drives it with a device, a replay with recorded trials; it knows neither.
namespace tilewright {

class Search {
 public:
  /// `max_trials`: candidates looked at besides those recalled; 0: as many as the strategy asks for.
  Search(SearchSpace space, const std::string& strategy, std::size_t max_trials);
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  /// Takes a trial that the cache has; before anything is asked.
  void recall(std::size_t candidate, const Trial& trial);
  /// The looks that may be made now, as of Strategy::ask.
  [[nodiscard]] std::vector<Look> ask(std::size_t most) const;
  /// The trial of a look; of a final, with its rounds; or one that took the place of a trial that did not stand.
  void tell(std::size_t candidate, const Trial& trial);

  /// Candidates that are still to be tried, at most.
  [[nodiscard]] std::size_t still_to_try() const;

  /// The candidates that must be timed in turns before winners are named; empty when they were.
  [[nodiscard]] std::vector<std::size_t> finalists() const;
  /// Other shapes with their winners, nearest first, in the place of those of the space: they break ties from now on.
  void meet(Neighbours shapes) { shapes_ = std::move(shapes); }
  /// The winners of all that was told, with how they were chosen but for the moment.
  [[nodiscard]] std::vector<Winner> winners() const;

  [[nodiscard]] const SearchSpace& space() const noexcept { return space_; }
  [[nodiscard]] const std::string& strategy() const noexcept { return name_; }
  /// Trials by candidate.
  [[nodiscard]] const std::vector<std::optional<Trial>>& trials() const noexcept { return trials_; }
  /// Candidates that were told and not recalled; those that were pruned do not count.
  [[nodiscard]] std::size_t tried() const noexcept { return tried_; }

 private:
  [[nodiscard]] std::map<std::string, int> pruned() const;

  SearchSpace space_;
  std::optional<Neighbours> shapes_;
  std::string name_;
  std::size_t max_trials_;
  std::unique_ptr<Strategy> strategy_;
  std::vector<std::optional<Trial>> trials_;
  std::size_t tried_ = 0;
};

}  // namespace tilewright
