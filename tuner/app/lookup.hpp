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

/// What a cache serves for a problem, by the launch library's own rule (cache/serve/choose.hpp), for addresses that are
/// aligned to anything.
namespace tilewright::app {

struct Lookup {
  /// `none` where what was found cannot be launched.
  MatchedRow served;
  /// Then why: each config and the constraint or limit that forbids it.
  std::string obstacle;
  /// What of the cache could not be read and was passed over; empty: nothing.
  std::string unread;
  /// Why what is served is not the fastest: pinned, or banned what was.
  std::vector<std::string> decisions{};
  /// Of a problem that was never tuned.
  std::optional<Expectation> expected{};
};

/// Hashes of the op's implementations as they are now; empty where its definition is not on this machine or cannot be
/// read. Throws UsageError for a folder of ops that is none.
[[nodiscard]] std::vector<std::string> current_implementations(const std::string& op, const Place& place);

/// Judges what is only read: neither driver nor compiler is opened, so Tilewright's version and the sources decide.
[[nodiscard]] Freshness freshness_here(const WinnerRow& row, const std::vector<std::string>& current_implementations);

/// Where the time of what is served stands, by the op's definition as far as it is on this machine and can be read, and
/// by what was measured of the winner's device.
[[nodiscard]] Roofline roofline_of(const Store& store, const WinnerRow& row, const Place& place);

/// Throws UsageError when the problem itself is beyond 2^63 bytes.
[[nodiscard]] Lookup look_up(const Store& store, const OpInterface& interface, const Problem& problem,
                             const DeviceFacts& device, const std::vector<std::string>& current_implementations);

}  // namespace tilewright::app
