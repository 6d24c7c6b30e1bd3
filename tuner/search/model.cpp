// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tuner/search/observations.hpp"
#include "tuner/search/prior.hpp"
#include "tuner/search/shuffle.hpp"
#include "tuner/search/surrogate.hpp"

namespace tilewright {
namespace {

// The share of the candidates that are measured, and the least number.
constexpr double kShareOfKnown = 0.148;
constexpr std::size_t kFewestMeasured = 6;
// The number chosen at a time; their trials change the ranking of the rest.
constexpr std::size_t kBatch = 3;
// If nothing is known, this many are drawn first, and a larger share is measured.
constexpr std::size_t kDrawn = 24;
constexpr double kShareOfUnknown = 0.25;
// The most candidates weighed per part. Half are those with the least expected loss by other shapes.
constexpr std::size_t kMostPredicted = 2048;

class Model final : public Strategy {
 public:
  explicit Model(const SearchSpace& space)
      : space_(space), observations_(space), order_(by_merit(space)), ranking_(order_) {
    const double share = space.known.empty() ? kShareOfUnknown : kShareOfKnown;
    most_ = std::max(kFewestMeasured, static_cast<std::size_t>(share * static_cast<double>(space.candidates.size())));
    open_ = space.known.empty() ? std::min(most_, kDrawn) : 0;
  }

  [[nodiscard]] std::vector<Look> ask(std::size_t most) const override {
    const std::size_t made = observations_.count_tried();
    if (made >= most_) return {};
    // What was pruned after compiling counts as ranked, but not as tried.
    if (made >= open_ || whole_looks(ranking_, observations_, space_, 1).empty()) rank(made);
    return whole_looks(ranking_, observations_, space_, std::min(most, open_ - made));
  }

  void tell(std::size_t candidate, const Trial& trial) override { observations_.tell(candidate, trial); }

  [[nodiscard]] std::size_t still_to_try() const override {
    return std::min(most_ - std::min(most_, observations_.count_tried()), observations_.count_unknown());
  }

  [[nodiscard]] std::string why_left_out() const override {
    return space_.known.empty() ? "ranked too low by the trials of the problem itself"
                                : "ranked too low by what is known of neighbouring shapes";
  }

  [[nodiscard]] std::string name() const override { return "model"; }

 private:
  /// Ranks the next part, which stands until all of it is told.
  void rank(std::size_t made) const {
    if (!surrogate_) surrogate_.emplace(space_);
    open_ = std::min(most_, made + kBatch);
    ranking_.clear();
    std::vector<std::size_t> weighed = unknown(made);
    while (made + ranking_.size() < open_ && !weighed.empty()) {
      const std::vector<double> promise = surrogate_->promise(weighed, observations_.trials(), ranking_);
      const auto next = std::ranges::min_element(promise) - promise.begin();
      ranking_.push_back(weighed[static_cast<std::size_t>(next)]);
      weighed.erase(weighed.begin() + next);
    }
  }

  [[nodiscard]] std::vector<std::size_t> unknown(std::size_t made) const {
    std::vector<std::size_t> first;
    std::copy_if(order_.begin(), order_.end(), std::back_inserter(first),
                 [&](std::size_t i) { return !observations_.known(i); });
    if (first.size() <= kMostPredicted) return first;
    std::vector<std::size_t> others(first.begin() + kMostPredicted / 2, first.end());
    first.resize(kMostPredicted / 2);
    keep_drawn(others, kMostPredicted / 2, space_.seed + made);
    first.insert(first.end(), others.begin(), others.end());
    return first;
  }

  const SearchSpace& space_;
  Observations observations_;
  std::size_t most_ = 0;
  /// By expected loss before any trial is told.
  std::vector<std::size_t> order_;
  // Cached parts of an answer, computed when first needed.
  mutable std::optional<Surrogate> surrogate_;
  mutable std::vector<std::size_t> ranking_;
  mutable std::size_t open_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> model(const SearchSpace& space) { return std::make_unique<Model>(space); }

}  // namespace tilewright
