// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/base/error.hpp"
#include "tuner/measure/measure.hpp"
#include "tuner/search/search.hpp"

/// A search space with chosen times and seeded noise: answers as a device would, reproducibly and at once.
namespace tilewright::testing {

[[nodiscard]] inline std::vector<std::size_t> candidates_of(const std::vector<Look>& looks) {
  std::vector<std::size_t> candidates;
  for (const Look& look : looks) candidates.push_back(look.candidate);
  return candidates;
}

/// `count` configs p{x=0} …: config `best` takes 1000 ns, and the others take longer the further away they are.
class Landscape {
 public:
  explicit Landscape(std::size_t count, std::size_t best = 0, double noise = 0.001, std::uint64_t seed = 1)
      : noise_(noise), bits_(seed) {
    for (std::size_t i = 0; i < count; ++i) {
      space.candidates.push_back(Config{"p", {{"x", static_cast<std::int64_t>(i)}}});
      const double away = std::abs(static_cast<double>(i) - static_cast<double>(best));
      times.push_back(1000 * (1 + 0.03 * away));
    }
    space.problem.spec.op = "op";
    space.problem.dims = {{"n", 64}};
    space.rule.max_rounds = 20;
  }

  /// A round's time: the true time with noise of ±noise; above 0.001, one round in forty is an outlier of 15 %.
  [[nodiscard]] double round(std::size_t candidate) const {
    const double uniform = static_cast<double>(bits_() >> 11) * 0x1p-53;
    const double outlier = noise_ > 0.001 && bits_() % 40 == 0 ? 1.15 : 1.0;
    return times[candidate] * (1 + noise_ * (2 * uniform - 1)) * outlier;
  }

  [[nodiscard]] Trial trial(std::size_t candidate, int rounds, LookLength length = LookLength::whole) const {
    Trial trial;
    trial.config = space.candidates[candidate];
    trial.look = length;
    std::vector<double> values;
    for (int i = 0; i < rounds; ++i) values.push_back(round(candidate));
    trial.timing = summarise(std::move(values));
    return trial;
  }

  /// Answers as a device that measures by the look's rule.
  [[nodiscard]] Trial answer(const Look& look) {
    rounds_made += 1;
    if (look.rule.give_up_ns > 0 && round(look.candidate) > look.rule.give_up_ns) {
      return trial(look.candidate, 1, look.length);
    }
    const int rounds = std::min(look.rule.max_rounds, look.rule.min_rounds);
    rounds_made += rounds;
    return trial(look.candidate, rounds, look.length);
  }

  /// Asks and answers until the search ends, including the final; returns the order of the looks.
  std::vector<std::size_t> run(Search& search) {
    std::vector<std::size_t> order;
    for (auto looks = search.ask(1); !looks.empty(); looks = search.ask(1)) {
      order.push_back(looks.front().candidate);
      search.tell(looks.front().candidate, answer(looks.front()));
    }
    for (const std::size_t i : search.finalists()) {
      search.tell(i, trial(i, space.rule.min_rounds, LookLength::final));
      rounds_made += space.rule.min_rounds + 1;
    }
    return order;
  }

  /// The knowledge of this space at another shape, whose best config is `best`.
  [[nodiscard]] Neighbour known(std::int64_t n, std::size_t best) const {
    Neighbour known;
    known.problem = space.problem;
    known.problem.dims = {{"n", n}};
    const Landscape there(space.candidates.size(), best);
    for (std::size_t i = 0; i < space.candidates.size(); ++i) known.trials.push_back(there.trial(i, 8));
    known.winner = space.candidates[best];
    return known;
  }

  SearchSpace space;
  std::vector<double> times;
  int rounds_made = 0;

 private:
  double noise_;
  mutable std::mt19937_64 bits_;
};

}  // namespace tilewright::testing
