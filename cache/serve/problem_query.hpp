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
  /// The interface of the op as the caller knows it: rows of another do not count.
  std::string interface_hash;
  DeviceFacts device;
  /// The versions at hand: a row of another driver or compiler is stale. A driver of 0 and an empty text are unknown,
  /// and not judged.
  Versions versions{};
  /// The hashes of the sources at hand: a row of another implementation is stale. Empty: not judged.
  std::vector<std::string> current_implementations{};
  /// Also takes configs that would serve once compiled for the problem.
  bool with_compiles = false;
  /// If given, only better fits are looked for.
  const Match* better_than = nullptr;
};

/// Judges a row by a query's versions and implementations; nothing else does.
[[nodiscard]] Freshness freshness_of(const WinnerRow& row, const Versions& versions,
                                     const std::vector<std::string>& current_implementations);

}  // namespace tilewright
