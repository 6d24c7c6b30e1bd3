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

/// The choice of the next look and its length. A strategy sees candidates by index and their trials, but no device,
/// compiler, store or clock. So it also runs against recorded trials, and equal trials and seeds give equal answers
/// (docs/tuning.md).
namespace tilewright {

struct Look {
  std::size_t candidate = 0;
  LookLength length = LookLength::whole;
  StopRule rule;
};

/// The natural logarithm of a launch's work over the problem's work (log_idle of cache/predict/features.hpp). If empty,
/// nothing is known.
using Idle = std::function<double(const Config& config, const Problem& problem)>;
/// Idle from implementation recipes. A config without a recipe has 0.
[[nodiscard]] Idle idle_of(OpInterface interface, std::vector<ImplementationRecipe> recipes, DeviceFacts device);

/// The space that a strategy searches.
struct SearchSpace {
  /// In the definition's order.
  std::vector<Config> candidates;
  /// The op's fallback. If it is a candidate, it is looked at first.
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
  /// At most `most` looks that may be made now in any order, the most valuable first; empty if the search is over. All
  /// stand until one is told, so asking is free and the answers may be compiled ahead.
  [[nodiscard]] virtual std::vector<Look> ask(std::size_t most) const = 0;
  /// Takes a candidate's trial: asked for or, before the first ask(), from the cache.
  virtual void tell(std::size_t candidate, const Trial& trial) = 0;
  /// The most candidates that it would still try. More than ask() returns, if later looks depend on these.
  [[nodiscard]] virtual std::size_t still_to_try() const = 0;
  /// Why it never asks for some candidates; empty if it asks for all.
  [[nodiscard]] virtual std::string why_left_out() const { return ""; }
  [[nodiscard]] virtual std::string name() const = 0;
};

// The arguments must outlive the strategies.

/// A whole look at each candidate, in the definition's order.
[[nodiscard]] std::unique_ptr<Strategy> exhaustive(const SearchSpace& space);
/// A brief look at each candidate. Those that may be the fastest meet in the final.
[[nodiscard]] std::unique_ptr<Strategy> race(const SearchSpace& space);
/// A whole look at each candidate, in an order drawn without replacement; for `--max-trials` and `--budget`.
[[nodiscard]] std::unique_ptr<Strategy> random_order(const SearchSpace& space);
/// Walks from the winners of neighbouring shapes to better neighbours in the space.
[[nodiscard]] std::unique_ptr<Strategy> local(const SearchSpace& space);
/// Whole looks at the share of candidates that trials of neighbouring shapes rank highest.
[[nodiscard]] std::unique_ptr<Strategy> model(const SearchSpace& space);

/// "exhaustive", "race", "random", "local", "model".
[[nodiscard]] const std::vector<std::string>& strategy_names();
/// Whether neighbouring shapes decide which configs the strategy looks at, not only their order.
[[nodiscard]] bool follows_neighbours(const std::string& name);
/// The strategy of this name. Throws UsageError with the nearest name if there is none.
[[nodiscard]] std::unique_ptr<Strategy> make_strategy(const std::string& name, const SearchSpace& space);

}  // namespace tilewright
