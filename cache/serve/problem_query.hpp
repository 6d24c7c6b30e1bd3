// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/model/device_facts.hpp"
#include "cache/model/problem.hpp"
#include "cache/model/records.hpp"
#include "cache/serve/fit.hpp"

/// A query to a source of winners. A value.
namespace tilewright {

struct ProblemQuery {
  Problem problem;
  /// The op's interface as the caller knows it: rows of other interfaces are ignored.
  std::string interface_hash;
  DeviceFacts device;
  /// The versions at hand: a row of another driver or compiler is stale. Driver 0 and an empty text are unknown and not
  /// compared.
  Versions versions{};
  /// The hashes of the sources at hand: a row of another implementation is stale. Empty: not compared.
  std::vector<std::string> current_implementations{};
  /// Also considers configs that would serve once compiled for the problem.
  bool with_compiles = false;
  /// If set, only better fits are considered. Not owned.
  const Match* better_than = nullptr;
};

/// The one judge of freshness: compares a row with a query's versions and implementations.
[[nodiscard]] Freshness freshness_of(const WinnerRow& row, const Versions& versions,
                                     const std::vector<std::string>& current_implementations);

}  // namespace tilewright
