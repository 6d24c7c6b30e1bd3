// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/store/store.hpp"

/// The trials of a cache, problem by problem, for tables of configs.
namespace tilewright {

struct TriedConfig {
  Trial trial;
  std::string implementation_hash;
};

/// One problem on one device in one mode, with the newest trial of each config, whatever version of the implementation
/// it was. A pruned trial counts only if there is no other.
struct TriedProblem {
  ProblemKey key;
  DeviceFacts device;
  MeasureMode mode = MeasureMode::cold;
  std::vector<TriedConfig> configs;
  /// The best config, as the cache has it.
  std::optional<Config> winner;
};

struct TriedFilter {
  std::string op;
  /// Interface hash; empty: any.
  std::string interface_hash;
  std::vector<std::string> fingerprints;
  MeasureMode mode = MeasureMode::cold;
  /// Empty: all.
  std::function<bool(const Problem&)> wanted;
};
/// Ordered as tables are: by spec, then by dims as numbers.
[[nodiscard]] std::vector<TriedProblem> tried_problems(const Store& store, const TriedFilter& filter);

/// The same for the trials whose versions `of` accepts, even if newer trials exist; without winners, which have no
/// versions of their own. Adds the versions of all trials looked at to `seen`, each once.
[[nodiscard]] std::vector<TriedProblem> tried_by_versions(const Store& store, const TriedFilter& filter,
                                                          const std::function<bool(const Versions&)>& of,
                                                          std::vector<Versions>& seen);

/// The order of problems in tables: by the spec's text, then by dims as numbers.
[[nodiscard]] bool before_in_table(const Problem& a, const Problem& b);

}  // namespace tilewright
