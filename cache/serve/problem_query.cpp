// SPDX-License-Identifier: Apache-2.0
#include "cache/serve/problem_query.hpp"

#include <algorithm>

namespace tilewright {
namespace {

/// Versions that the caller does not know (no driver, no compiler) are not compared.
bool differs(const Versions& now, const Versions& then) {
  return (now.driver != 0 && now.driver != then.driver) || (!now.compiler.empty() && now.compiler != then.compiler);
}

}  // namespace

Freshness freshness_of(const WinnerRow& row, const Versions& versions, const std::vector<std::string>& current) {
  const bool retired = !current.empty() && std::ranges::find(current, row.implementation_hash) == current.end();
  return retired || differs(versions, row.winner.trial.versions) ? Freshness::stale : Freshness::fresh;
}

}  // namespace tilewright
