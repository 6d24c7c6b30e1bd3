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

/// The search for one problem's winners: a strategy, its limit of trials, each candidate's trial, and the final. A
/// sweep drives it with a device, a replay with recorded trials. For one thread at a time.
namespace tilewright {

/// The number of neighbouring shapes that a search learns from.
inline constexpr std::size_t kKnownNeighbours = 8;

class Search {
 public:
  /// `max_trials` limits the candidates looked at, not counting recalled ones; 0: no limit.
  Search(SearchSpace space, const std::string& strategy, std::size_t max_trials);
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  /// Takes a trial from the cache. Call before the first ask().
  void recall(std::size_t candidate, const Trial& trial);
  /// The looks that may be made now, as from Strategy::ask().
  [[nodiscard]] std::vector<Look> ask(std::size_t most) const;
  /// Takes the trial of a look; of a final, with its rounds; or a replacement for an invalid trial.
  void tell(std::size_t candidate, const Trial& trial);

  /// The most candidates still to be tried.
  [[nodiscard]] std::size_t still_to_try() const;

  /// The candidates that must be timed in turns before winners are named; empty if they were.
  [[nodiscard]] std::vector<std::size_t> finalists() const;
  /// Replaces the space's known shapes in tie breaks from now on. Nearest first.
  void meet(Neighbours shapes) { shapes_ = std::move(shapes); }
  /// The winners by all trials told, with how they were chosen except the time.
  [[nodiscard]] std::vector<Winner> winners() const;

  [[nodiscard]] const SearchSpace& space() const noexcept { return space_; }
  [[nodiscard]] const std::string& strategy() const noexcept { return name_; }
  /// Trials by candidate.
  [[nodiscard]] const std::vector<std::optional<Trial>>& trials() const noexcept { return trials_; }
  /// Candidates told and not recalled, without pruned ones.
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
