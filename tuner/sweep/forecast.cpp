// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/forecast.hpp"

#include <algorithm>
#include <limits>

#include "tuner/prune/verdict.hpp"
#include "tuner/sweep/builder.hpp"

namespace tilewright {
namespace {

// The fewest trials of a sweep from which to estimate its pace, if they do not record their own durations.
constexpr std::size_t kTelling = 10;

double mean(double sum, std::size_t count) { return sum / static_cast<double>(count); }

/// What trials of one device tell of their sweeps.
struct Tally {
  struct Span {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = 0;
    std::size_t trials = 0;
  };
  std::map<std::int64_t, Span> spans;
  std::set<std::int64_t> builds;
  double worked = 0;
  std::size_t clocked = 0;

  void add(const History::TrialOf& trial) {
    if (trial.build != 0) builds.insert(trial.build);
    if (trial.phases.began_us != 0) {
      worked += static_cast<double>(trial.phases.set_up_us + trial.phases.verify_us + trial.phases.measure_us) / 1e6;
      ++clocked;
    }
    Span& span = spans[trial.sweep];
    span.first = std::min(span.first, trial.measured_at);
    span.last = std::max(span.last, trial.measured_at);
    ++span.trials;
  }

  [[nodiscard]] Pace pace(const History& history) const {
    Pace pace;
    double compiled = 0;
    for (const std::int64_t build : builds) compiled += history.builds.at(build).milliseconds / 1e3;
    if (!builds.empty() && compiled > 0) pace.compile_seconds = mean(compiled, builds.size());
    if (clocked > 0) {
      pace.trial_seconds = mean(worked, clocked);
      return pace;
    }
    double seconds = 0;
    std::size_t steps = 0;
    for (const auto& [sweep, span] : spans) {
      if (sweep == 0 || span.trials < kTelling) continue;
      seconds += static_cast<double>(span.last - span.first);
      steps += span.trials - 1;
    }
    if (steps > 0 && seconds > 0) pace.trial_seconds = mean(seconds, steps);
    return pace;
  }
};

}  // namespace

std::string_view name(CacheState state) noexcept {
  switch (state) {
    case CacheState::fresh:
      return "known";
    case CacheState::partial:
      return "partly known";
    case CacheState::stale:
      return "stale";
    case CacheState::unknown:
      return "new";
  }
  return "";
}

Forecast ProblemRun::forecast(const std::string& compiler) const {
  Forecast forecast;
  forecast.problem = problem_;
  Expansion expansion = expand(definition_, problem_, setting_.facts);
  forecast.total = expansion.total;
  forecast.legal = expansion.legal.size();
  forecast.forbidden = std::move(expansion.forbidden);
  forecast.considered = candidates_.size();
  forecast.known = known_before_;
  forecast.to_try = search_->still_to_try();
  const auto& trials = search_->trials();
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i] && trials[i]->status == TrialStatus::pruned) {
      ++forecast.pruned[std::string(pruned_by(trials[i]->reason))];
    }
    if (trials[i] || compiler.empty() || forecast.to_try == 0) continue;
    const std::string source = source_key(source_of(i), candidates_[i].implementation->hash);
    forecast.builds.insert(build_key(source, setting_.facts.arch(), compiler, {}));
  }
  const bool won = !setting_.store->winners(key_, setting_.trial.mode).empty();
  forecast.state = forecast.to_try == 0 && (won || forecast.known > 0) ? CacheState::fresh
                   : forecast.known > 0                                ? CacheState::partial
                   : won                                               ? CacheState::stale
                                                                       : CacheState::unknown;
  return forecast;
}

Forecast forecast_problem(const SweepSetting& setting, const OpDefinition& definition, const Problem& problem,
                          const std::string& compiler) {
  return ProblemRun(setting, definition, problem).forecast(compiler);
}

Paces::Paces(const History& history, const std::string& fingerprint) {
  std::map<std::string, Tally> by_op;
  Tally all;
  for (const History::TrialOf& trial : history.trials) {
    const auto device = history.devices.find(trial.device);
    if (device == history.devices.end() || device->second.fingerprint() != fingerprint) continue;
    if (trial.status == TrialStatus::pruned) continue;
    by_op[history.specs.at(history.problems.at(trial.problem).spec).spec.op].add(trial);
    all.add(trial);
  }
  for (const auto& [op, tally] : by_op) by_op_.emplace(op, tally.pace(history));
  all_ = all.pace(history);
  all_.of_other_ops = true;
}

Pace Paces::of(const std::string& op) const {
  const auto own = by_op_.find(op);
  return own != by_op_.end() && own->second.trial_seconds ? own->second : all_;
}

std::optional<double> seconds_for(const Pace& pace, std::size_t binaries, std::size_t configs, int jobs) {
  if (configs == 0) return 0;
  if (!pace.trial_seconds || (binaries > 0 && !pace.compile_seconds)) return std::nullopt;
  const double compiling =
      binaries == 0 ? 0
                    : static_cast<double>(binaries) * *pace.compile_seconds / static_cast<double>(std::max(jobs, 1));
  return std::max(compiling, static_cast<double>(configs) * *pace.trial_seconds);
}

}  // namespace tilewright
