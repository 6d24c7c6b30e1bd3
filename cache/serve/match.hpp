// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/serve/fit.hpp"
#include "cache/serve/winner_source.hpp"

/// What a cache serves for a problem, and how well it fits: always both, so that no caller mistakes a fallback for a
/// tuned result.
namespace tilewright {

/// The one judge: stale when `versions` differ from those it was measured with (a driver of 0 and empty texts are
/// unknown: not judged), or when its implementation hash is not among the current ones (`current_implementations`
/// empty: not judged).
[[nodiscard]] Freshness freshness_of(const WinnerRow& row, const Versions& versions,
                                     const std::vector<std::string>& current_implementations);

/// What may serve a problem, and how it fits.
struct MatchCandidate {
  Match match;
  WinnerRow row;
  /// It serves once it is compiled for the problem.
  bool needs_compile = false;
};

/// Offers what may serve a problem, best first, until `take` returns true; whether it is legal is for `take` to judge.
/// The rule (docs/cache.md), for this device and then for the others of its architecture (never from the emulator to a
/// GPU or back), the most alike first:
///   1. the best winner of this very problem, then its best without specialised dims: exact;
///   2. where something was learned of the spec (WinnerSource::learned), its winners and spares and, `with_compiles`,
///      whatever it was learned of, the least expected loss first; then, and where nothing was learned, what was timed
///      at the shapes around, then at those farther, and has a binary (cache/predict/nearest.hpp): nearest. What has
///      none, has one for other values of the dims that it specialises, or was never timed
///      (cache/plan/combinations.hpp) is offered only `with_compiles`;
///   3. the base kept for this spec: default.
/// Winners of mode `cold` go before `hot`, these before `events`; on the other devices, what is exact goes before what
/// is nearest on any. Each is judged by freshness_of(). What cannot be read (a damaged row), also by `take`, gives way
/// to what comes next, what was learned to the shapes around; the first error's text is returned. Where nothing is
/// taken, that CacheError is thrown, and at once one of a cache that is locked or may not be read. Given `better_than`,
/// only what fits better is looked for.
std::string offer_candidates(const WinnerSource& source, const Problem& problem, const std::string& interface_hash,
                             const DeviceFacts& device, const Versions& versions,
                             const std::vector<std::string>& current_implementations,
                             const std::function<bool(MatchCandidate&)>& take, bool with_compiles = false,
                             const Match* better_than = nullptr);

struct MatchedRow {
  Match match;
  /// Nothing when match.fit is `none`.
  std::optional<WinnerRow> row;
};

/// The first candidate, legal or not.
[[nodiscard]] MatchedRow match(const WinnerSource& source, const Problem& problem, const std::string& interface_hash,
                               const DeviceFacts& device, const Versions& versions,
                               const std::vector<std::string>& current_implementations = {});

}  // namespace tilewright
