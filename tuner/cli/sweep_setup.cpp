// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/sweep_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/plan/plan.hpp"
#include "tuner/analysis/units.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/search_options.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/compile/compiler_processes.hpp"
#include "tuner/compile/host_compiler.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/definition/space.hpp"
#include "tuner/report/render.hpp"
#include "tuner/sweep/device_lock.hpp"

namespace tilewright::cli {
namespace {

// The emulator is there to try the whole road, not to rank a thousand configs: each costs a run of the host's compiler.
constexpr std::int64_t kMaxConfigsOnCpu = 24;

constexpr std::array kFailures{TrialStatus::compile_failed, TrialStatus::exceeds_limits, TrialStatus::wrong_result,
                               TrialStatus::timed_out, TrialStatus::crashed};

/// --retry: failures that are tried again.
std::set<TrialStatus> retries_of(const Arguments& arguments) {
  std::set<TrialStatus> statuses;
  if (!arguments.has("retry")) return statuses;
  for (const std::string& word : split_list(arguments.text("retry"))) {
    for (const TrialStatus status : kFailures) {
      if (word == "all" || word == name(status)) statuses.insert(status);
    }
  }
  return statuses;
}

/// Why it ended, by the worst.
std::string outcome_of(const SweepSummary& summary) {
  if (summary.interrupted) return "interrupted";
  if (!summary.lost.empty()) return "device_lost";
  return summary.without_winner > 0 ? "without_winner" : "done";
}

}  // namespace

std::unique_ptr<Compiler> open_compiler(const Arguments& arguments, bool emulator) {
  constexpr std::size_t kCompileMemory = std::size_t{4} << 30;
  const std::chrono::seconds limit(arguments.integer("compile-timeout", 120, 1));
  if (emulator) {
    HostCompilerSettings settings = HostCompilerSettings::from_environment();
    settings.memory_bytes = kCompileMemory;
    settings.limit = limit;
    settings.interrupted = interrupted;
    return std::make_unique<HostCompiler>(std::move(settings));
  }
  CompilerProcesses::Settings settings{compile_worker_command(), NvrtcCompiler().version()};
  settings.limits.memory_bytes = kCompileMemory;
  settings.limit = limit;
  settings.interrupted = interrupted;
  return std::make_unique<CompilerProcesses>(std::move(settings));
}

std::size_t max_configs_of(const Arguments& arguments, bool emulator) {
  return static_cast<std::size_t>(arguments.integer("max-configs", emulator ? kMaxConfigsOnCpu : 0, 0));
}

void consider_one(const Arguments& arguments, SweepRequest& request) {
  const Candidate named = resolve_config(*request.definition, Config::parse(arguments.text("config")));
  for (const Problem& problem : request.problems) request.only[problem.key()] = {named.config.text()};
  request.max_configs = 0;
}

SweepRequest sweep_request(const Arguments& arguments) {
  SweepRequest request;
  request.mode = mode_of(arguments).value_or(MeasureMode::cold);
  request.stop.budget = std::chrono::milliseconds(arguments.integer("budget-ms", 60, 1));
  request.regime = regime_from(arguments.text("regime", "burst")).value();
  request.jobs = static_cast<int>(std::min<std::int64_t>(arguments.integer("jobs", 0, 1), 1024));
  request.ceilings = !arguments.has("no-ceilings");
  request.again = arguments.has("again");
  request.retry = retries_of(arguments);
  read_search_options(arguments, request);
  request.command = arguments.command();
  return request;
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

std::optional<SweepPlace> open_sweep(const Arguments& arguments, SweepRequest& request, Progress& progress,
                                     Console& console) {
  require_own_cache(cache_path(arguments));
  SweepPlace place;
  place.devices = open_trial_devices(arguments, [&](const std::string& line) { progress.note(line); });
  if (!place.devices) {
    console.say("Interrupted before anything was measured.");
    return std::nullopt;
  }
  const DeviceProcess& first = place.devices->first();
  if (!first.said().empty() && !arguments.has("quiet")) console.say(first.said());
  place.emulator = first.facts().is_cpu();
  place.compiler = open_compiler(arguments, place.emulator);
  request.compiler = place.compiler.get();
  request.max_configs = max_configs_of(arguments, place.emulator);
  request.locks = lock_places();
  return place;
}

std::string summary_text(const SweepSummary& summary, const Store& store) {
  std::string text = fmt::format("{} problem{} in {:.3f} s: {} configs measured", summary.problems,
                                 summary.problems == 1 ? "" : "s", summary.wall_seconds.count(), summary.measured);
  if (summary.failed > 0) text += fmt::format(" ({} failed)", summary.failed);
  if (summary.pruned > 0) text += fmt::format(", {} left out since they cannot win", summary.pruned);
  text += fmt::format(", {} known before, {} binaries compiled (the compilers worked {})", summary.reused,
                      summary.compiled, show_duration(summary.compile_seconds.count()));
  if (summary.forbidden > 0) text += fmt::format(", {} forbidden for their problems", summary.forbidden);
  text += fmt::format("; devices waited {:.3f} s for compilers", summary.waited_seconds.count());
  return text + fmt::format("; cache {}", store.path().string());
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
          {"without_winner", count(summary.without_winner)},
          {"left", count(summary.left)},
          {"lost_devices", count(summary.lost.size())},
          {"interrupted", summary.interrupted}};
}

void tell_summary(const SweepSummary& summary, const Store& store, Console& console) {
  console.say(summary_text(summary, store));
  if (!console.logs_json()) return;
  nlohmann::ordered_json told{{"event", "sweep_done"}};
  for (const auto& [name, cell] : summary_figures(summary)) told[name] = json_of(cell);
  told["cache"] = store.path().string();
  console.log(told);
}

}  // namespace tilewright::cli
