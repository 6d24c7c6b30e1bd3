// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/model/device_facts.hpp"
#include "cache/model/problem.hpp"
#include "cache/model/records.hpp"
#include "cache/serve/fit.hpp"

/// A question to a source of winners. A value.
namespace tilewright {

struct ProblemQuery {
  Problem problem;
  /// Of the op as the caller knows it: rows under another do not exist for it.
  std::string interface_hash;
  DeviceFacts device;
  /// With what it would be measured now: another driver or compiler makes a row stale. A driver of 0 and an empty text
  /// are unknown, and not judged.
  Versions versions{};
  /// The implementations that there are now: a row of another is stale. Empty: not judged.
  std::vector<std::string> current_implementations{};
  /// Configs that would serve once compiled for the problem count, too.
  bool with_compiles = false;
  /// Given, only what fits better is looked for.
  const Match* better_than = nullptr;
};

/// The one judge, of a query's versions and implementations.
[[nodiscard]] Freshness freshness_of(const WinnerRow& row, const Versions& versions,
                                     const std::vector<std::string>& current_implementations);

}  // namespace tilewright
