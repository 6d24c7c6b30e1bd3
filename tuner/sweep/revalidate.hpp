// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/definition/definition.hpp"

/// Winners that were chosen under another driver, compiler, version or source than today's: which they are, whom to time
/// again, and what becomes of them (docs/tuning.md). Reads the store alone.
namespace tilewright {

struct StaleWinner {
  Problem problem;
  std::string fingerprint;
  /// What served it, and how fast it was.
  Config config;
  double median_ns = 0;
  /// What has changed since, in words: "driver 12080 is now 13000".
  std::string why;
  /// The texts of those that led: winners of all roles, runners-up and ties.
  std::set<std::string> leaders;
};

/// The stale winners of an op on a device in one mode, as far as its interface is still the same.
[[nodiscard]] std::vector<StaleWinner> stale_winners(const Store& store, const OpDefinition& definition,
                                                     const std::string& fingerprint, MeasureMode mode,
                                                     const Versions& now);

enum class Revalidated : std::uint8_t {
  kept,      ///< it is still the fastest of those that led
  promoted,  ///< another one of those that led is
  resweep,   ///< none of them is as fast as the winner was: the others must be looked at, too
};

/// "kept", "promoted", "re-swept".
[[nodiscard]] std::string_view name(Revalidated verdict) noexcept;

/// By the winner of the leaders, after they were timed again; null when none of them is right any more.
[[nodiscard]] Revalidated judge(const StaleWinner& before, const Winner* now);

}  // namespace tilewright
