// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/definition/definition.hpp"
#include "tuner/sweep/sweep.hpp"

/// Finds winners chosen under another driver, compiler or source, the configs to time again, and the verdict
/// (docs/tuning.md). Such a sweep stores no winner before its verdict: if killed, winners stay stale, and the next
/// sweep continues from its trials.
namespace tilewright {

struct StaleWinner {
  Problem problem;
  std::string fingerprint;
  /// The config that served, and its time.
  Config config;
  double median_ns = 0;
  /// The change since, as "driver 12080 is now 13000".
  std::string why;
  /// The texts of the leaders: winners of all roles, runners-up and ties.
  std::set<std::string> leaders;
  /// The regime in which it was chosen.
  Regime regime = Regime::burst;
  /// Whether no leader was as fast, so that all configs were searched.
  bool searched = false;
};

/// An op's stale winners on a device in one mode whose interface is unchanged.
[[nodiscard]] std::vector<StaleWinner> stale_winners(const Store& store, const OpDefinition& definition,
                                                     const std::string& fingerprint, MeasureMode mode,
                                                     const Versions& now);

/// Makes `request` recheck these winners, each on its device, in `regime` or else its own. `stale` must outlive the
/// sweep, which sets `searched`.
void recheck(SweepRequest& request, std::span<StaleWinner* const> stale, std::optional<Regime> regime = {});

enum class Revalidated : std::uint8_t {
  kept,      ///< still the fastest of the leaders
  promoted,  ///< another leader is the fastest
  resweep,   ///< no leader is as fast as the winner was: the others must be searched
  left,      ///< not reached, and as stale as before
};

/// As "kept", "promoted", "re-swept", "left".
[[nodiscard]] std::string_view name(Revalidated verdict) noexcept;

/// The verdict by the leaders' new winner; null if none is valid. Does not return `left`.
[[nodiscard]] Revalidated judge(const StaleWinner& before, const Winner* now);

/// The verdict after the sweep: `now` is the current winner, or null if it is still stale.
[[nodiscard]] Revalidated verdict(const StaleWinner& before, const Winner* now);

}  // namespace tilewright
