// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tuner/search/board.hpp"
#include "tuner/search/shuffle.hpp"

namespace tilewright {
namespace {

// Of the candidates, how many are measured, and never fewer than so many.
constexpr double kShare = 0.15;
constexpr std::size_t kFewest = 3;
// The share is measured in so many parts.
constexpr std::size_t kBatches = 4;
// Where nothing is known there is nothing to rank by: a draw must be larger.
constexpr double kDrawnShare = 0.25;

class Model final : public Strategy {
 public:
  explicit Model(const SearchSpace& space)
      : space_(space),
        board_(space),
        predictor_(space.candidates, space.problem, space.known),
        drawn_(shuffled(space.candidates.size(), space.seed)) {
    const double share = !space.prune ? 1 : space.known.empty() ? kDrawnShare : kShare;
    most_ = std::max(kFewest, static_cast<std::size_t>(share * static_cast<double>(space.candidates.size())));
  }

  [[nodiscard]] std::vector<Look> ask(std::size_t most) const override {
    const std::size_t made = board_.count_known();
    if (made >= most_) return {};
    // A few at a time: what they tell changes the ranking of the rest.
    const std::size_t batch = std::max(kFewest, most_ / kBatches);
    const std::size_t open = std::min(most_, (made / batch + 1) * batch) - made;
    return whole_looks(ranking(), board_, space_, std::min(most, open));
  }

  void tell(std::size_t candidate, const Trial& trial) override { board_.tell(candidate, trial); }

  [[nodiscard]] std::string why_left_out() const override {
    return space_.known.empty() ? "not drawn: no neighbouring shape is known to rank by"
                                : "ranked too low by what is known of neighbouring shapes";
  }

  [[nodiscard]] std::string name() const override { return "model"; }

 private:
  [[nodiscard]] std::vector<std::size_t> ranking() const {
    if (space_.known.empty()) return drawn_;
    const std::vector<double> expected = predictor_.expected(board_.trials());
    std::vector<std::size_t> order(expected.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return expected[a] < expected[b]; });
    return order;
  }

  const SearchSpace& space_;
  Board board_;
  Predictor predictor_;
  std::vector<std::size_t> drawn_;
  std::size_t most_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> model(const SearchSpace& space) { return std::make_unique<Model>(space); }

}  // namespace tilewright
