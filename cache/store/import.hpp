// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cache/store/store.hpp"

/// Winners from one cache into another, with all that serving and judging them needs: interfaces, implementations,
/// their trials with all rounds, builds and binaries, and the devices' ceilings and rates; and of the other configs of
/// their problems the newest time or failure, for models. Compilers' logs stay behind; the registers and spills in them
/// are also the build's. Free functions over Stores.
namespace tilewright {

/// Counts of the problems of one op on one device.
struct OpCounts {
  std::string op;
  std::string device;
  /// Problems (each in each mode) that had no winner before; whose winners were replaced; whose own winners have the
  /// better evidence and stayed; and that had the same winners.
  std::size_t added = 0, replaced = 0, kept = 0, same = 0;
  /// Learned models that were taken: there was no model here, or one of less worth.
  std::size_t models = 0;
  /// Models that were not taken, since a newer program has learned the models here.
  std::size_t newer_models = 0;
};

/// The winners to take; empty: all.
struct WinnerSelection {
  std::vector<std::string> ops{};
  std::vector<std::string> devices{};  ///< fingerprints
  std::function<bool(const Problem&)> wanted{};
  /// Leaves out times of configs that do not serve, unless the launcher predicts from them: spares without a model.
  bool thin = false;

  [[nodiscard]] bool takes(const Problem& problem, const std::string& device) const;
};

/// The winners that the filter takes, under the newest interface of their op, in the order of Store::list_winners.
[[nodiscard]] std::vector<WinnerRow> selected_winners(const Store& store, const WinnerSelection& filter);

/// A problem for which the caches have different best configs, and whether ours was replaced.
struct Conflict {
  std::string problem;
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  /// Both have their rounds.
  Trial here, there;
  bool replaced = false;
};

/// Puts the winners of `from` into `to`, in one transaction: nothing is put if it throws. The winners of a problem on a
/// device go together: they replace those of `to` if their best has the better evidence, and are left out otherwise.
/// Takes only winners under the newest interface of their op; if `to` has another interface, that stays in use. Adds
/// ceilings and rates that `to` lacks. Returns counts by op, then device. `conflicts`, if given, gets one entry for
/// each problem for which the caches serve different configs.
std::vector<OpCounts> import_winners(const Store& from, Store& to, const WinnerSelection& filter = {},
                                     std::vector<Conflict>* conflicts = nullptr);

}  // namespace tilewright
