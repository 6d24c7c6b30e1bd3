// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/search/observations.hpp"
#include "tuner/search/prior.hpp"
#include "tuner/search/shuffle.hpp"
#include "tuner/search/surrogate.hpp"

namespace tilewright {
namespace {

// The share of the candidates that a walk may look at, and the least number.
constexpr double kShare = 0.148;
constexpr std::size_t kFewest = 6;
// The walk starts from the winners of this many neighbouring shapes. Without winners it starts from drawn candidates,
// which do not count as steps, and one in kDrawnStep steps is drawn, too.
constexpr std::size_t kKnownStarts = 3;
constexpr std::size_t kDrawnStarts = 24;
constexpr std::size_t kDrawnStep = 4;
// The most parameters that one step changes.
constexpr std::size_t kLongestStep = 2;
// The candidates weighed for a step: this many around the leaders, and this many of all others.
constexpr std::size_t kMostWeighed = 512;

class Local final : public Strategy {
 public:
  explicit Local(const SearchSpace& space)
      : space_(space), observations_(space), starts_(winners_around(space, kKnownStarts)) {
    const auto share = static_cast<std::size_t>(kShare * static_cast<double>(space.candidates.size()));
    most_ = std::max(share, kFewest + (starts_.empty() ? kDrawnStarts : 0));
    if (!starts_.empty()) return;
    drawn_ = by_merit(space);
    starts_.assign(drawn_.begin(), drawn_.begin() + static_cast<std::ptrdiff_t>(std::min(drawn_.size(), kDrawnStarts)));
  }

  [[nodiscard]] std::vector<Look> ask(std::size_t most) const override {
    const std::size_t made = observations_.count_tried();
    if (made >= most_) return {};
    most = std::min(most, most_ - made);
    std::vector<Look> looks = whole_looks(starts_, observations_, space_, most);
    if (looks.empty()) looks = whole_looks(moves(), observations_, space_, most);
    return looks;
  }

  void tell(std::size_t candidate, const Trial& trial) override { observations_.tell(candidate, trial); }

  [[nodiscard]] std::size_t still_to_try() const override {
    return std::min(most_ - std::min(most_, observations_.count_tried()), observations_.count_unknown());
  }

  [[nodiscard]] std::string why_left_out() const override {
    return "off the walk from the winners of neighbouring shapes";
  }

  [[nodiscard]] std::string name() const override { return "local"; }

 private:
  /// The next candidates, most promising first by all trials so far: those a step away from a leader, or any other.
  [[nodiscard]] const std::vector<std::size_t>& moves() const {
    const std::size_t tried = observations_.count_tried();
    if (!moves_.empty() && moves_of_ == tried) return moves_;
    if (!surrogate_) surrogate_.emplace(space_);
    moves_of_ = tried;
    moves_ = weighed();
    const std::vector<double> promise = surrogate_->promise(moves_, observations_.trials());
    sort_by(moves_, promise);
    if (tried % kDrawnStep == 0) {
      const auto unknown = std::ranges::find_if(drawn_, [&](std::size_t i) { return !observations_.known(i); });
      if (unknown != drawn_.end()) moves_.insert(moves_.begin(), *unknown);
    }
    return moves_;
  }

  [[nodiscard]] std::vector<std::size_t> weighed() const {
    const std::vector<std::size_t> from = leaders(observations_.trials()).best;
    std::vector<std::size_t> around;
    std::vector<std::size_t> elsewhere;
    for (std::size_t i = 0; i < space_.candidates.size(); ++i) {
      if (observations_.known(i)) continue;
      const auto near = [&](std::size_t leader) {
        return differing(space_.candidates[i], space_.candidates[leader]) <= kLongestStep;
      };
      (std::ranges::any_of(from, near) ? around : elsewhere).push_back(i);
    }
    keep_drawn(around, kMostWeighed, space_.seed + moves_of_);
    keep_drawn(elsewhere, kMostWeighed, space_.seed + moves_of_);
    around.insert(around.end(), elsewhere.begin(), elsewhere.end());
    return around;
  }

  /// The number of differing parameters. Configs of one implementation have the same parameters in the same order.
  static std::size_t differing(const Config& a, const Config& b) {
    if (a.implementation != b.implementation) return std::numeric_limits<std::size_t>::max();
    return std::inner_product(a.values.begin(), a.values.end(), b.values.begin(), std::size_t{0}, std::plus<>(),
                              [](const auto& own, const auto& other) { return own.second != other.second ? 1U : 0U; });
  }

  const SearchSpace& space_;
  Observations observations_;
  std::size_t most_ = 0;
  std::vector<std::size_t> starts_;
  /// All candidates, if no neighbour provides a start.
  std::vector<std::size_t> drawn_;
  // Cached parts of an answer, computed when first needed.
  mutable std::optional<Surrogate> surrogate_;
  mutable std::vector<std::size_t> moves_;
  mutable std::size_t moves_of_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> local(const SearchSpace& space) { return std::make_unique<Local>(space); }

}  // namespace tilewright
