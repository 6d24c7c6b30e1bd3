// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/model/records.hpp"
#include "tuner/measure/measure.hpp"
#include "tuner/search/neighbours.hpp"

/// The choice of the next look, and of its length. A strategy sees candidates by index and the trials they became, no
/// device, compiler, store or clock: so it can be run against recorded trials as well, and gives the
/// same answers to the same trials and seed (docs/tuning.md).
namespace tilewright {

/// One look at one candidate.
struct Look {
  std::size_t candidate = 0;
  LookLength length = LookLength::whole;
  StopRule rule;
};

/// The work of a config's launch at a problem over the work asked, a natural logarithm (log_idle of
/// cache/predict/features.hpp); empty: nothing is known of it.
using Idle = std::function<double(const Config& config, const Problem& problem)>;
/// Idle by the recipes of implementations; a config of no recipe is never idle.
[[nodiscard]] Idle idle_of(OpInterface interface, std::vector<ImplementationRecipe> recipes, DeviceFacts device);

/// The space that a strategy searches.
struct SearchSpace {
  /// In the definition's order.
  std::vector<Config> candidates;
  /// The op's fallback, which is always looked at: it need not be among the candidates.
  Config base;
  Problem problem;
  /// The stop rule of a whole look.
  StopRule rule;
  std::uint64_t seed = 1;
  /// Other problems of the op with trials on the device, nearest first.
  Neighbours known;
  Idle idle{};
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  /// At most `most` looks that may be made now, those that are worth most first; none: the search is over. They may be
  /// made in any order, and all of them stand until one is told, so that asking is free and the answer may be compiled
  /// ahead.
  [[nodiscard]] virtual std::vector<Look> ask(std::size_t most) const = 0;
  /// The trial of a candidate: asked for or, at first, already in the cache.
  virtual void tell(std::size_t candidate, const Trial& trial) = 0;
  /// The most candidates that it would still try: more than it asks for now, where it waits for what these tell.
  [[nodiscard]] virtual std::size_t still_to_try() const = 0;
  /// Why it never asks for some candidates; empty where it asks for all.
  [[nodiscard]] virtual std::string why_left_out() const { return ""; }
  [[nodiscard]] virtual std::string name() const = 0;
};

// Their arguments must outlive them.

/// Every candidate once, wholly, in the definition's order.
[[nodiscard]] std::unique_ptr<Strategy> exhaustive(const SearchSpace& space);
/// A brief look at every candidate: those that may be the fastest meet in the final.
[[nodiscard]] std::unique_ptr<Strategy> race(const SearchSpace& space);
/// Every candidate once, wholly, in an order drawn without replacement: for `--max-trials` and `--budget`.
[[nodiscard]] std::unique_ptr<Strategy> random_order(const SearchSpace& space);
/// Walks from the winners of neighbouring shapes to better neighbours in the space.
[[nodiscard]] std::unique_ptr<Strategy> local(const SearchSpace& space);
/// The share of the candidates that what is known of neighbouring shapes ranks highest, wholly.
[[nodiscard]] std::unique_ptr<Strategy> model(const SearchSpace& space);

/// "exhaustive", "race", "random", "local", "model".
[[nodiscard]] const std::vector<std::string>& strategy_names();
/// Whether neighbouring shapes decide which configs the strategy looks at, and not only in which order.
[[nodiscard]] bool follows_neighbours(const std::string& name);
/// The strategy of that name; throws UsageError with the nearest right one.
[[nodiscard]] std::unique_ptr<Strategy> make_strategy(const std::string& name, const SearchSpace& space);

}  // namespace tilewright
