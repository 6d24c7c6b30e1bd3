// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "cache/plan/plan.hpp"
#include "tuner/definition/space.hpp"
#include "tuner/search/strategy.hpp"
#include "tuner/sweep/device_lock.hpp"

namespace tilewright::app {
namespace {

/// Why the sweep ended, by its worst reason.
std::string outcome_of(const SweepSummary& summary) {
  if (summary.interrupted) return "interrupted";
  if (!summary.lost.empty()) return "device_lost";
  if (summary.without_winner > 0) return "without_winner";
  return summary.base_failures.empty() ? "done" : "base_failed";
}

}  // namespace

const std::vector<std::string>& strategies() { return strategy_names(); }

std::size_t usual_max_configs(bool emulator) { return emulator ? 24 : 0; }

SweepRequest sweep_request(const Tuning& tuning) {
  SweepRequest request;
  static_cast<SearchOptions&>(request) = tuning.search;
  request.mode = tuning.mode;
  request.jobs = tuning.work.jobs;
  request.budget = tuning.budget;
  request.ceilings = tuning.ceilings;
  request.command = tuning.command;
  request.locks = lock_places();
  return request;
}

std::optional<SweepPlace> open_sweep(const Place& where, const Tuning& tuning, SweepRequest& request,
                                     Listener& listener) {
  require_own_cache(cache_path(where));
  SweepPlace place;
  place.devices = open_devices(tuning.work, listener);
  if (!place.devices) {
    listener.warn("Interrupted before anything was measured.");
    return std::nullopt;
  }
  const DeviceProcess& first = place.devices->first();
  if (!first.said().empty()) listener.tell(first.said());
  place.emulator = first.facts().is_cpu();
  place.compiler = open_compiler(tuning.work, place.emulator, listener);
  request = sweep_request(tuning);
  request.compiler = place.compiler.get();
  request.max_configs = tuning.max_configs.value_or(usual_max_configs(place.emulator));
  return place;
}

SweepSummary run_told(const SweepRequest& request, Catalogue& catalogue, DevicePool& devices, Store& store,
                      Listener& listener, const std::filesystem::path& cache) {
  SweepSummary summary = run_sweep(request, catalogue, devices, store, listener, [&] { return listener.cancelled(); });
  listener.sweep_done(summary, cache);
  return summary;
}

std::chrono::nanoseconds SharedBudget::start(std::size_t problems) {
  started_ = std::chrono::steady_clock::now();
  if (left_.count() == 0) return left_;
  const auto all = std::max(static_cast<std::int64_t>(problems_), std::int64_t{1});
  const auto these = static_cast<std::int64_t>(problems);
  // Divided first: a year times the problems is more than 64 bits hold.
  const auto part = left_ / all * these + left_ % all * these / all;
  problems_ -= problems;
  return std::max(part, std::chrono::nanoseconds(1));
}

void SharedBudget::end() {
  if (left_.count() == 0) return;
  left_ = std::max<std::chrono::nanoseconds>(left_ - (std::chrono::steady_clock::now() - started_),
                                             std::chrono::nanoseconds(1));
}

void check_sizes(const OpDefinition& definition, const std::vector<Problem>& problems) {
  for (const Problem& problem : problems) {
    static_cast<void>(plan_args(definition.interface, problem));
    try {
      static_cast<void>(definition.bytes_of(problem));
      static_cast<void>(definition.flops_of(problem));
    } catch (const DefinitionError& error) {
      throw UsageError(
          fmt::format("{} is too large to be counted; choose smaller dims: {}", problem.key(), error.what()));
    }
  }
}

std::optional<std::chrono::nanoseconds> duration_from(const std::string& text) {
  static const std::map<std::string, double> kUnits{{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
  constexpr double kMost = 365 * 24 * 3600e9;
  std::size_t read = 0;
  double number = 0;
  try {
    number = std::stod(text, &read);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  const auto unit = kUnits.find(text.substr(read));
  if (unit == kUnits.end()) return std::nullopt;
  const double nanoseconds = number * unit->second;
  if (!(nanoseconds >= 1) || nanoseconds > kMost) return std::nullopt;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(nanoseconds));
}

void consider_one(const std::string& config, SweepRequest& request) {
  const Candidate named = resolve_config(*request.definition, Config::parse(config));
  for (const Problem& problem : request.problems) request.only[problem.key()] = {named.config.text()};
  request.max_configs = 0;
}

std::string summary_text(const SweepSummary& summary, const std::string& cache) {
  std::string text = fmt::format("{} in {:.3f} s: {} measured", counted(summary.problems, "problem"),
                                 summary.wall_seconds.count(), counted(summary.measured, "config"));
  if (summary.failed > 0) text += fmt::format(" ({} failed)", summary.failed);
  if (summary.pruned > 0) text += fmt::format(", {} left out since they cannot win", summary.pruned);
  text += fmt::format(", {} known before, {} compiled (the compilers worked {})", summary.reused,
                      counted(summary.compiled, "binary"), show_duration(summary.compile_seconds.count()));
  if (summary.forbidden > 0) text += fmt::format(", {} forbidden for their problems", summary.forbidden);
  text += fmt::format("; devices waited {:.3f} s for compilers", summary.waited_seconds.count());
  if (!cache.empty()) text += "; cache " + cache;
  return text;
}

std::vector<std::pair<std::string, Cell>> summary_figures(const SweepSummary& summary) {
  const auto count = [](std::size_t number) { return static_cast<std::int64_t>(number); };
  const auto ms = [](std::chrono::duration<double, std::milli> time) { return time.count(); };
  return {{"outcome", outcome_of(summary)},
          {"wall_ms", ms(summary.wall_seconds)},
          {"measure_ms", ms(summary.measure_seconds)},
          {"compile_ms", ms(summary.compile_seconds)},
          {"waited_ms", ms(summary.waited_seconds)},
          {"problems", count(summary.problems)},
          {"measured", count(summary.measured)},
          {"failed", count(summary.failed)},
          {"forbidden", count(summary.forbidden)},
          {"pruned", count(summary.pruned)},
          {"known", count(summary.reused)},
          {"compiled", count(summary.compiled)},
          {"ceilings", count(summary.ceilings)},
          {"cut_short", count(summary.cut_short)},
          {"without_winner", count(summary.without_winner)},
          {"base_failed", count(summary.base_failures.size())},
          {"left", count(summary.left)},
          {"lost_devices", count(summary.lost.size())},
          {"interrupted", summary.interrupted}};
}

bool is_whole(const SweepSummary& summary) {
  return !summary.interrupted && summary.without_winner == 0 && summary.base_failures.empty() && summary.lost.empty();
}

}  // namespace tilewright::app
