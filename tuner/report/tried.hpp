// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/store/store.hpp"

/// The trials of a cache, problem by problem: for tables of configs.
namespace tilewright {

struct TriedConfig {
  Trial trial;
  std::string implementation_hash;
};

/// One problem on one device in one mode. Of configs tried more than once, the newest counts, whatever version of the
/// implementation it was.
struct TriedProblem {
  ProblemKey key;
  DeviceFacts device;
  MeasureMode mode = MeasureMode::cold;
  std::vector<TriedConfig> configs;
  /// The best, as the cache has it.
  std::optional<Config> winner;
};

struct TriedFilter {
  std::string op;
  /// Interface hash; empty: of any.
  std::string interface_hash;
  std::vector<std::string> fingerprints;
  MeasureMode mode = MeasureMode::cold;
  /// Empty: all.
  std::function<bool(const Problem&)> wanted;
};
/// Ordered as tables are: by spec, then by dims as numbers.
[[nodiscard]] std::vector<TriedProblem> tried_problems(const Store& store, const TriedFilter& filter);

/// The same of the trials whose versions are `of`, however many newer ones there are; without winners, which have no
/// versions of their own. `versions` of all trials looked at, each once, are left in `seen`.
[[nodiscard]] std::vector<TriedProblem> tried_by_versions(const Store& store, const TriedFilter& filter,
                                                          const std::function<bool(const Versions&)>& of,
                                                          std::vector<Versions>& seen);

/// The order of problems in tables: by the spec's text, then by dims as numbers.
[[nodiscard]] bool before_in_table(const Problem& a, const Problem& b);

}  // namespace tilewright
