// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "tuner/search/board.hpp"

namespace tilewright {
namespace {

// Of the candidates, how many are measured, and never fewer than so many.
constexpr double kShare = 0.12;
constexpr std::size_t kFewest = 4;
// Where nothing is known there is nothing to rank by: a draw must be larger.
constexpr double kDrawnShare = 0.25;

class Model final : public Strategy {
 public:
  explicit Model(const SearchSpace& space)
      : space_(space), board_(space), chosen_(by_merit(space.candidates, space.problem, space.known, space.seed)) {
    if (!space.prune) return;
    const double share = space.known.empty() ? kDrawnShare : kShare;
    const auto most = static_cast<std::size_t>(share * static_cast<double>(chosen_.size()));
    chosen_.resize(std::min(chosen_.size(), std::max(kFewest, most)));
  }

  [[nodiscard]] std::vector<Look> ask(std::size_t most) const override {
    return whole_looks(chosen_, board_, space_, most);
  }

  void tell(std::size_t candidate, const Trial& trial) override { board_.tell(candidate, trial); }

  [[nodiscard]] std::string why_left_out() const override {
    return space_.known.empty() ? "not drawn: no neighbouring shape is known to rank by"
                                : "ranked too low by what is known of neighbouring shapes";
  }

  [[nodiscard]] std::string name() const override { return "model"; }

 private:
  const SearchSpace& space_;
  Board board_;
  std::vector<std::size_t> chosen_;
};

}  // namespace

std::unique_ptr<Strategy> model(const SearchSpace& space) { return std::make_unique<Model>(space); }

}  // namespace tilewright
