// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/serve/expectation.hpp"
#include "cache/serve/match.hpp"
#include "cache/store/store.hpp"
#include "tuner/analysis/roofline.hpp"
#include "tuner/app/place.hpp"

/// The config that a cache serves for a problem, by the launch library's own rule (cache/serve/choose.hpp), for
/// addresses that are aligned to anything.
namespace tilewright::app {

struct Lookup {
  /// `none` where what was found cannot be launched.
  MatchedRow served;
  /// Then why: each config and the constraint or limit that forbids it.
  std::string obstacle;
  /// The part of the cache that could not be read and was passed over; empty: none.
  std::string unread;
  /// Why the served config is not the fastest: it is pinned, or the fastest is banned.
  std::vector<std::string> decisions{};
  /// The expectation of a problem that was never tuned.
  std::optional<Expectation> expected{};
};

/// Hashes of the op's implementations as they are now; empty where its definition is not on this machine or cannot be
/// read. Throws UsageError for a path of ops that is no folder.
[[nodiscard]] std::vector<std::string> current_implementations(const std::string& op, const Place& place);

/// Opens neither driver nor compiler, so the op's sources decide.
[[nodiscard]] Freshness freshness_here(const WinnerRow& row, const std::vector<std::string>& current_implementations);

/// The winner's time against the ceilings of its device, by the op's definition where it is on this machine and can be
/// read.
[[nodiscard]] Roofline roofline_of(const Store& store, const WinnerRow& row, const Place& place);

/// Throws UsageError when the problem itself is beyond 2^63 bytes.
[[nodiscard]] Lookup look_up(const Store& store, const OpInterface& interface, const Problem& problem,
                             const DeviceFacts& device, const std::vector<std::string>& current_implementations);

}  // namespace tilewright::app
