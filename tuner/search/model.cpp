// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tuner/search/observations.hpp"
#include "tuner/search/shuffle.hpp"
#include "tuner/search/surrogate.hpp"

namespace tilewright {
namespace {

// Of the candidates, how many are measured, and never fewer than so many.
constexpr double kShare = 0.148;
constexpr std::size_t kFewest = 6;
// So many are chosen at a time: what they tell changes the ranking of the rest.
constexpr std::size_t kBatch = 3;
// Where nothing is known there is nothing to rank by: a draw must be larger.
constexpr double kDrawnShare = 0.25;

class Model final : public Strategy {
 public:
  explicit Model(const SearchSpace& space)
      : space_(space), observations_(space), ranking_(shuffled(space.candidates.size(), space.seed)) {
    const double share = space.known.empty() ? kDrawnShare : kShare;
    most_ = std::max(kFewest, static_cast<std::size_t>(share * static_cast<double>(space.candidates.size())));
    open_ = space.known.empty() ? most_ : 0;
  }

  [[nodiscard]] std::vector<Look> ask(std::size_t most) const override {
    const std::size_t made = observations_.count_tried();
    if (made >= most_) return {};
    if (made >= open_) rank(made);
    return whole_looks(ranking_, observations_, space_, std::min(most, open_ - made));
  }

  void tell(std::size_t candidate, const Trial& trial) override { observations_.tell(candidate, trial); }

  [[nodiscard]] std::size_t still_to_try() const override {
    return std::min(most_ - std::min(most_, observations_.count_tried()), observations_.count_unknown());
  }

  [[nodiscard]] std::string why_left_out() const override {
    return space_.known.empty() ? "not drawn: no neighbouring shape is known to rank by"
                                : "ranked too low by what is known of neighbouring shapes";
  }

  [[nodiscard]] std::string name() const override { return "model"; }

 private:
  /// The next part, which stands until all of it is told.
  void rank(std::size_t made) const {
    if (!surrogate_) surrogate_.emplace(space_);
    open_ = std::min(most_, made + kBatch);
    ranking_.clear();
    while (made + ranking_.size() < open_) {
      const std::vector<double> promise = surrogate_->promise(observations_.trials(), ranking_);
      std::optional<std::size_t> next;
      for (std::size_t i = 0; i < promise.size(); ++i) {
        const bool taken = observations_.known(i) || std::find(ranking_.begin(), ranking_.end(), i) != ranking_.end();
        if (!taken && (!next || promise[i] < promise[*next])) next = i;
      }
      if (!next) return;
      ranking_.push_back(*next);
    }
  }

  const SearchSpace& space_;
  Observations observations_;
  std::size_t most_ = 0;
  // What an answer is made of, when it is first asked for.
  mutable std::optional<Surrogate> surrogate_;
  mutable std::vector<std::size_t> ranking_;
  mutable std::size_t open_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> model(const SearchSpace& space) { return std::make_unique<Model>(space); }

}  // namespace tilewright
