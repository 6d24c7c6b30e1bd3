// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tuner/search/board.hpp"
#include "tuner/search/shuffle.hpp"

namespace tilewright {
namespace {

// Of the candidates, how many a walk may look at, and never fewer than so many.
constexpr double kShare = 0.14;
constexpr std::size_t kFewest = 4;
// Winners of so many neighbouring shapes are where it starts; where there is none, so many candidates drawn by the seed.
constexpr std::size_t kStarts = 3;
constexpr std::size_t kDrawnStarts = 3;

class Local final : public Strategy {
 public:
  explicit Local(const SearchSpace& space)
      : space_(space),
        board_(space),
        most_(std::max(kFewest, static_cast<std::size_t>(kShare * static_cast<double>(space.candidates.size())))),
        merit_(by_merit(space.candidates, space.problem, space.known, space.seed)),
        starts_(starts()) {}

  [[nodiscard]] std::vector<Look> ask(std::size_t most) const override {
    const std::size_t made = board_.count_known();
    if (made >= most_) return {};
    most = std::min(most, most_ - made);
    std::vector<Look> looks = whole_looks(starts_, board_, space_, most);
    if (looks.empty()) looks = whole_looks(moves(), board_, space_, most);
    return looks;
  }

  void tell(std::size_t candidate, const Trial& trial) override { board_.tell(candidate, trial); }

  [[nodiscard]] std::string why_left_out() const override {
    return "off the walk from the winners of neighbouring shapes";
  }

  [[nodiscard]] std::string name() const override { return "local"; }

 private:
  [[nodiscard]] std::vector<std::size_t> starts() const {
    std::vector<std::size_t> found;
    for (const KnownProblem& known : space_.known) {
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

  /// Where to go from here: what differs in one parameter from one of those that lead, by merit.
  [[nodiscard]] std::vector<std::size_t> moves() const {
    const std::vector<std::size_t> from = leaders(board_.trials()).best;
    std::vector<std::size_t> around;
    for (const std::size_t i : merit_) {
      const auto one_away = [&](std::size_t leader) {
        return differing(space_.candidates[i], space_.candidates[leader]) == 1;
      };
      if (!board_.known(i) && std::any_of(from.begin(), from.end(), one_away)) around.push_back(i);
    }
    return around;
  }

  static std::size_t differing(const Config& a, const Config& b) {
    if (a.implementation != b.implementation) return std::numeric_limits<std::size_t>::max();
    std::size_t count = 0;
    for (const auto& [name, value] : a.values) count += b.find(name) == value ? 0U : 1U;
    return count;
  }

  const SearchSpace& space_;
  Board board_;
  std::size_t most_;
  std::vector<std::size_t> merit_;
  std::vector<std::size_t> starts_;
};

}  // namespace

std::unique_ptr<Strategy> local(const SearchSpace& space) { return std::make_unique<Local>(space); }

}  // namespace tilewright
