// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cache/store/store.hpp"

/// Winners from one cache into another, with all that serving and judging them needs: interfaces, implementations,
/// their trials with every round, builds and binaries, and the devices' ceilings and rates. What the compiler said of a
/// binary stays behind: the registers and spills that it told of are the build's. Free functions over Stores.
namespace tilewright {

/// Counts of the problems of one op on one device.
struct OpCounts {
  std::string op;
  std::string device;
  /// Problems (each in each mode) that had no winner before; whose winners were replaced; whose own winners have the
  /// better evidence and stayed; and that had these very winners.
  std::size_t added = 0, replaced = 0, kept = 0, same = 0;
  /// Learned models that were taken: there was none, or one that is worth less.
  std::size_t models = 0;
  /// Models that were not taken, since a newer program has learned those here.
  std::size_t newer_models = 0;
};

/// True when the winner `a` says more than `b`: its trial has enough rounds for an interval (8) where the other's has
/// not; else its sweep reached more configs; else its 95 % interval is narrower in relation to its median; else it is
/// later. A trial without a time says nothing. Needs the rounds of both trials.
[[nodiscard]] bool better_evidence(const Winner& a, const Winner& b);

/// The winners to take; empty: all.
struct WinnerSelection {
  std::vector<std::string> ops{};
  std::vector<std::string> devices{};  ///< fingerprints
  std::function<bool(const Problem&)> wanted{};
  /// Times of configs that nobody is served stay behind where a model was learned of them.
  bool thin = false;

  [[nodiscard]] bool takes(const Problem& problem, const std::string& device) const;
};

/// The winners under the newest interface of their op that the filter takes, as Store::list_winners orders them.
[[nodiscard]] std::vector<WinnerRow> selected_winners(const Store& store, const WinnerSelection& filter);

/// A problem that both caches have another best config for, and which of the two is served now.
struct Conflict {
  std::string problem;
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  /// With their rounds.
  Trial here, there;
  bool replaced = false;
};

/// Puts the winners of `from` into `to`, in one transaction: all or, when something throws, nothing. The winners of a
/// problem on a device go together: they replace those of `to` where their best has the better evidence, and are left
/// out otherwise. Only winners under the newest interface of their op are taken; where `to` has another one, it stays
/// the one in use. Ceilings and rates are added where `to` has none. By op, then device. `conflicts`, where given, gets
/// one for each problem of which the caches serve different configs.
std::vector<OpCounts> import_winners(const Store& from, Store& to, const WinnerSelection& filter = {},
                                     std::vector<Conflict>* conflicts = nullptr);

}  // namespace tilewright
