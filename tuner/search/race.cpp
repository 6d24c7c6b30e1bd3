// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tuner/search/observations.hpp"
#include "tuner/search/prior.hpp"

namespace tilewright {
namespace {

// The rounds of a brief look: the fewest that show their spread.
constexpr int kBriefRounds = 2;
// A candidate slower than the best by this factor is given up. Rounds differ by far less.
constexpr double kHopeless = 1.1;

class Race final : public Strategy {
 public:
  explicit Race(const SearchSpace& space) : space_(space), observations_(space), order_(by_merit(space)) {}

  /// A brief look at each candidate; a whole one at the base, to which speed-ups refer. Leaders meet in the final.
  [[nodiscard]] std::vector<Look> ask(std::size_t most) const override {
    std::vector<Look> looks = whole_looks({}, observations_, space_, most);
    const double best = best_.value_or(0);
    const double dynamic = dynamic_.value_or(0);
    for (const std::size_t i : order_) {
      if (looks.size() >= most) break;
      if (observations_.known(i) || space_.candidates[i] == space_.base) continue;
      StopRule rule = space_.rule;
      rule.max_rounds = std::min(rule.max_rounds, kBriefRounds);
      rule.give_up_ns = kHopeless * (space_.candidates[i].specialised() ? best : dynamic);
      looks.push_back({i, LookLength::brief, rule});
    }
    return looks;
  }

  void tell(std::size_t candidate, const Trial& trial) override {
    const bool replaces = observations_.known(candidate);
    observations_.tell(candidate, trial);
    if (!replaces) return compare(candidate);
    best_.reset();
    dynamic_.reset();
    for (std::size_t i = 0; i < observations_.size(); ++i) compare(i);
  }

  [[nodiscard]] std::size_t still_to_try() const override { return observations_.count_unknown(); }
  [[nodiscard]] std::string name() const override { return "race"; }

 private:
  void compare(std::size_t candidate) {
    const Timing* timing = observations_.timing(candidate);
    if (timing == nullptr) return;
    best_ = std::min(best_.value_or(timing->median_ns), timing->median_ns);
    if (space_.candidates[candidate].specialised()) return;
    dynamic_ = std::min(dynamic_.value_or(timing->median_ns), timing->median_ns);
  }

  const SearchSpace& space_;
  Observations observations_;
  std::vector<std::size_t> order_;
  /// The smallest medians: of all, and of those without specialised dims.
  std::optional<double> best_, dynamic_;
};

}  // namespace

std::unique_ptr<Strategy> race(const SearchSpace& space) { return std::make_unique<Race>(space); }

}  // namespace tilewright
