// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "tuner/search/leaders.hpp"
#include "tuner/search/strategy.hpp"

/// The trials that a strategy was told, one per candidate. Each strategy keeps its own.
namespace tilewright {

class Observations {
 public:
  explicit Observations(const SearchSpace& space) : trials_(space.candidates.size()) {
    const auto base = std::ranges::find(space.candidates, space.base);
    if (base != space.candidates.end()) base_ = static_cast<std::size_t>(base - space.candidates.begin());
  }

  void tell(std::size_t candidate, const Trial& trial) {
    trials_.at(candidate) = trial;
    // Strategies need only the intervals of thousands of rounds.
    if (trials_[candidate]->timing) trials_[candidate]->timing->rounds_ns.clear();
  }

  /// The base, if it is a candidate.
  [[nodiscard]] std::optional<std::size_t> base() const noexcept { return base_; }
  [[nodiscard]] bool known(std::size_t candidate) const { return trials_[candidate].has_value(); }
  /// Whether nothing more can be learned: the trial failed, or its look was not brief.
  [[nodiscard]] bool finished(std::size_t candidate) const {
    const auto& trial = trials_[candidate];
    return trial && (!timed(*trial) || trial->look != LookLength::brief);
  }
  /// Null if the candidate has no time.
  [[nodiscard]] const Timing* timing(std::size_t candidate) const {
    const auto& trial = trials_[candidate];
    return trial && timed(*trial) ? &*trial->timing : nullptr;
  }
  [[nodiscard]] const std::vector<std::optional<Trial>>& trials() const noexcept { return trials_; }
  [[nodiscard]] std::size_t size() const noexcept { return trials_.size(); }
  /// Candidates with a trial that was not pruned.
  [[nodiscard]] std::size_t count_tried() const {
    std::size_t count = 0;
    for (const auto& trial : trials_) count += trial && trial->status != TrialStatus::pruned ? 1U : 0U;
    return count;
  }
  [[nodiscard]] std::size_t count_unknown() const {
    return static_cast<std::size_t>(
        std::count_if(trials_.begin(), trials_.end(), [](const auto& trial) { return !trial; }));
  }

 private:
  std::vector<std::optional<Trial>> trials_;
  std::optional<std::size_t> base_{};
};

/// Whole looks at the unfinished candidates of `order`, the base first.
[[nodiscard]] std::vector<Look> whole_looks(const std::vector<std::size_t>& order, const Observations& observations,
                                            const SearchSpace& space, std::size_t most);

}  // namespace tilewright
