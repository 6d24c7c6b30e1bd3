// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/revalidate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tilewright {
namespace {

// Two sweeps of the same code differ by up to this. Beyond it, another config may be the fastest.
constexpr double kMostSlower = 1.03;

/// Empty if nothing changed.
std::string changes(const Versions& then, const Versions& now, bool same_source) {
  std::vector<std::string> changed;
  if (then.driver != now.driver) changed.push_back(fmt::format("driver {} is now {}", then.driver, now.driver));
  if (then.compiler != now.compiler) changed.push_back(fmt::format("{} is now {}", then.compiler, now.compiler));
  if (!same_source) changed.emplace_back("its source has changed");
  return fmt::format("{}", fmt::join(changed, ", "));
}

}  // namespace

std::vector<StaleWinner> stale_winners(const Store& store, const OpDefinition& definition,
                                       const std::string& fingerprint, MeasureMode mode, const Versions& now) {
  std::vector<StaleWinner> stale;
  for (const WinnerRow& row : store.list_winners(
           {.op = definition.interface.op, .fingerprint = fingerprint, .mode = mode, .role = WinnerRole::best})) {
    if (row.interface_hash != definition.interface.hash()) continue;
    const bool same_source = std::any_of(
        definition.implementations.begin(), definition.implementations.end(),
        [&](const Implementation& implementation) { return implementation.hash == row.implementation_hash; });
    std::string why = changes(row.winner.trial.versions, now, same_source);
    if (why.empty() || !row.winner.trial.timing) continue;
    StaleWinner& each = stale.emplace_back();
    each.problem = row.problem;
    each.fingerprint = fingerprint;
    each.config = row.winner.trial.config;
    each.median_ns = row.winner.trial.timing->median_ns;
    each.why = std::move(why);
    each.regime = row.winner.choice.regime;
    for (const Winner& winner : store.winners({row.problem, row.interface_hash, fingerprint}, mode)) {
      each.leaders.insert(winner.trial.config.text());
      if (winner.runner_up) each.leaders.insert(winner.runner_up->text());
      for (const Config& tied : winner.choice.tied) each.leaders.insert(tied.text());
    }
  }
  return stale;
}

void recheck(SweepRequest& request, std::span<StaleWinner* const> stale, std::optional<Regime> regime) {
  request.problems.clear();
  request.rechecks.clear();
  for (StaleWinner* const each : stale) {
    if (std::find(request.problems.begin(), request.problems.end(), each->problem) == request.problems.end()) {
      request.problems.push_back(each->problem);
    }
    Recheck& recheck = request.rechecks[{each->fingerprint, each->problem.key()}];
    recheck.leaders = each->leaders;
    recheck.regime = regime.value_or(each->regime);
    recheck.why = each->why;
    recheck.stands = [each](const Winner* now) {
      each->searched = judge(*each, now) == Revalidated::resweep;
      return !each->searched;
    };
  }
}

std::string_view name(Revalidated verdict) noexcept {
  switch (verdict) {
    case Revalidated::kept:
      return "kept";
    case Revalidated::promoted:
      return "promoted";
    case Revalidated::resweep:
      return "re-swept";
    case Revalidated::left:
      break;
  }
  return "left";
}

Revalidated judge(const StaleWinner& before, const Winner* now) {
  if (now == nullptr || !now->trial.timing || now->trial.timing->median_ns > kMostSlower * before.median_ns) {
    return Revalidated::resweep;
  }
  return now->trial.config == before.config ? Revalidated::kept : Revalidated::promoted;
}

Revalidated verdict(const StaleWinner& before, const Winner* now) {
  if (now == nullptr) return Revalidated::left;
  if (before.searched) return Revalidated::resweep;
  return now->trial.config == before.config ? Revalidated::kept : Revalidated::promoted;
}

}  // namespace tilewright
