// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/serve/expectation.hpp"
#include "cache/serve/matched_row.hpp"
#include "cache/store/store.hpp"

/// Looks up the config that a cache serves for a problem, with the launch library's own rule (cache/serve/choose.hpp),
/// for addresses of any alignment.
namespace tilewright::app {

struct Lookup {
  /// `none` if the config found cannot be launched.
  MatchedRow served;
  /// Why not: each config with the constraint or limit that forbids it.
  std::string obstacle;
  /// The part of the cache that could not be read and was skipped; empty: none.
  std::string unread;
  /// Why the served config is not the fastest: it is pinned, or the fastest is banned.
  std::vector<std::string> decisions{};
  /// What to expect of a problem that was not tuned.
  std::optional<Expectation> expected{};
};

/// The freshness by the op's sources alone: opens neither driver nor compiler.
[[nodiscard]] Freshness freshness_here(const WinnerRow& row, const std::vector<std::string>& current_implementations);

/// Throws UsageError if the problem itself exceeds 2^63 bytes.
[[nodiscard]] Lookup look_up(const Store& store, const OpInterface& interface, const Problem& problem,
                             const DeviceFacts& device, const std::vector<std::string>& current_implementations);

}  // namespace tilewright::app
