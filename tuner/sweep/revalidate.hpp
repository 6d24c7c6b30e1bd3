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

/// Winners that were chosen under another driver, compiler, version or source than today's: which they are, which
/// configs to time again, and what becomes of them (docs/tuning.md). The sweep that times them stores no winner before
/// it is judged: one that is killed leaves them stale, and the next goes on from the trials that it made.
namespace tilewright {

struct StaleWinner {
  Problem problem;
  std::string fingerprint;
  /// The config that served it, and its time.
  Config config;
  double median_ns = 0;
  /// The change since, in words: "driver 12080 is now 13000".
  std::string why;
  /// The texts of those that led: winners of all roles, runners-up and ties.
  std::set<std::string> leaders;
  /// The one that it was chosen in.
  Regime regime = Regime::burst;
  /// None of the leaders was as fast, so that all configs were searched.
  bool searched = false;
};

/// The stale winners of an op on a device in one mode, as far as its interface is still the same.
[[nodiscard]] std::vector<StaleWinner> stale_winners(const Store& store, const OpDefinition& definition,
                                                     const std::string& fingerprint, MeasureMode mode,
                                                     const Versions& now);

/// Makes of a request one that judges these anew, each on its device and in the regime that it was chosen in, or in
/// this one. They must stay where they are until it was carried out, and learn there whether all configs were searched.
void recheck(SweepRequest& request, std::span<StaleWinner* const> stale, std::optional<Regime> regime = {});

enum class Revalidated : std::uint8_t {
  kept,      ///< it is still the fastest of those that led
  promoted,  ///< another one of those that led is
  resweep,   ///< none of them is as fast as the winner was: the others must be looked at, too
  left,      ///< it was not come to, and is as stale as before
};

/// "kept", "promoted", "re-swept", "left".
[[nodiscard]] std::string_view name(Revalidated verdict) noexcept;

/// By the winner of the leaders, after they were timed again; null when none of them is right any more. Never `left`.
[[nodiscard]] Revalidated judge(const StaleWinner& before, const Winner* now);

/// The verdict on a stale winner: `now` serves after the sweep that judged it anew; null where it is still stale.
[[nodiscard]] Revalidated verdict(const StaleWinner& before, const Winner* now);

}  // namespace tilewright
