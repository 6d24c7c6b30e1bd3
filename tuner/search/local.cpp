// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/search/observations.hpp"
#include "tuner/search/shuffle.hpp"
#include "tuner/search/surrogate.hpp"

namespace tilewright {
namespace {

// Of the candidates, how many a walk may look at, and never fewer than so many.
constexpr double kShare = 0.148;
constexpr std::size_t kFewest = 6;
// Winners of so many neighbouring shapes are where it starts; where there is none, so many candidates drawn by the
// seed.
constexpr std::size_t kStarts = 3;
constexpr std::size_t kDrawnStarts = 3;
// A step of the walk changes so many parameters at most.
constexpr std::size_t kLongestStep = 2;

class Local final : public Strategy {
 public:
  explicit Local(const SearchSpace& space)
      : space_(space),
        observations_(space),
        most_(std::max(kFewest, static_cast<std::size_t>(kShare * static_cast<double>(space.candidates.size())))),
        starts_(starts()) {}

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
  [[nodiscard]] std::vector<std::size_t> starts() const {
    std::vector<std::size_t> found;
    for (const Neighbour& known : space_.known) {
      if (found.size() >= kStarts) break;
      if (!known.winner) continue;
      const auto nearest = likeness(*known.winner);
      if (nearest && std::find(found.begin(), found.end(), *nearest) == found.end()) found.push_back(*nearest);
    }
    if (!found.empty()) return found;
    found = shuffled(space_.candidates.size(), space_.seed);
    found.resize(std::min(found.size(), kDrawnStarts));
    return found;
  }

  /// The candidate that is nearest to a config, itself where it is one.
  [[nodiscard]] std::optional<std::size_t> likeness(const Config& config) const {
    std::optional<std::size_t> nearest;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < space_.candidates.size(); ++i) {
      const double away = distance(space_.candidates[i], config);
      if (away >= least) continue;
      least = away;
      nearest = i;
    }
    return nearest;
  }

  /// Where to go from here: what is a step away from one of those that lead, the most promising first. Where all of
  /// that is known, what is left of the walk's share goes to the most promising of all.
  [[nodiscard]] std::vector<std::size_t> moves() const {
    const std::vector<std::size_t> from = leaders(observations_.trials()).best;
    std::vector<std::size_t> unknown;
    std::vector<std::size_t> around;
    for (std::size_t i = 0; i < space_.candidates.size(); ++i) {
      if (observations_.known(i)) continue;
      unknown.push_back(i);
      const auto near = [&](std::size_t leader) {
        return differing(space_.candidates[i], space_.candidates[leader]) <= kLongestStep;
      };
      if (std::any_of(from.begin(), from.end(), near)) around.push_back(i);
    }
    if (around.empty()) around = std::move(unknown);
    const std::vector<double>& promise = promises();
    std::stable_sort(around.begin(), around.end(),
                     [&](std::size_t a, std::size_t b) { return promise[a] < promise[b]; });
    return around;
  }

  /// Of all that was told so far.
  [[nodiscard]] const std::vector<double>& promises() const {
    if (!surrogate_) surrogate_.emplace(space_);
    if (promises_.empty() || promised_of_ != observations_.count_tried())
      promises_ = surrogate_->promise(observations_.trials());
    promised_of_ = observations_.count_tried();
    return promises_;
  }

  static std::size_t differing(const Config& a, const Config& b) {
    if (a.implementation != b.implementation) return std::numeric_limits<std::size_t>::max();
    std::size_t count = 0;
    for (const auto& [name, value] : a.values) count += b.find(name) == value ? 0U : 1U;
    return count;
  }

  const SearchSpace& space_;
  Observations observations_;
  std::size_t most_;
  std::vector<std::size_t> starts_;
  // What an answer is made of, when it is first asked for.
  mutable std::optional<Surrogate> surrogate_;
  mutable std::vector<double> promises_;
  mutable std::size_t promised_of_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> local(const SearchSpace& space) { return std::make_unique<Local>(space); }

}  // namespace tilewright
