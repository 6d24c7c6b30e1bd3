// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/analysis/fusion.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/problem_words.hpp"
#include "tuner/cli/progress.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/stored_devices.hpp"
#include "tuner/cli/sweep_setup.hpp"
#include "tuner/cli/trial_devices.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/report/fusion_table.hpp"
#include "tuner/search/strategy.hpp"

namespace tilewright::cli {
namespace {

/// A problem of an op that needs a winner.
struct ToTune {
  const OpDefinition* definition = nullptr;
  Problem problem;
};

/// What the account of `problem` compares, each once: the fused op, then its steps that are ops.
std::vector<ToTune> compared(const OpDefinition& fused, const Problem& problem, Catalogue& catalogue) {
  std::vector<ToTune> all{{&fused, problem}};
  for (const UnfusedStep& step : unfused_steps(fused, problem, catalogue)) {
    if (!step.problem) continue;
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const ToTune& each) { return each.problem == *step.problem; });
    if (!known) all.push_back({step.definition, *step.problem});
  }
  return all;
}

/// Whether every sweep came to its end; `devices` are those that it was on.
struct Measured {
  bool whole = true;
  std::vector<std::string> devices;
};

/// Tunes what has no winner yet.
Measured measure(const Arguments& arguments, const std::vector<ToTune>& all, Catalogue& catalogue, Console& console) {
  SweepRequest request = sweep_request(arguments);
  const bool quiet = arguments.has("quiet");
  Progress progress(console, quiet);
  const std::optional<SweepPlace> place = open_sweep(arguments, request, progress, console);
  if (!place) return {false, {}};
  Measured measured{true, place->devices->fingerprints()};
  Store store(cache_path(arguments));
  for (const ToTune& each : all) {
    const std::string hash = each.definition->interface.hash();
    const bool known = std::all_of(measured.devices.begin(), measured.devices.end(), [&](const std::string& device) {
      return store.winner_of({each.problem, hash, device}, request.mode, WinnerRole::best).has_value();
    });
    if (known && !request.again) continue;
    check_sizes(*each.definition, {each.problem});
    request.definition = each.definition;
    request.problems = {each.problem};
    const SweepSummary summary = run_sweep(request, catalogue, *place->devices, store, progress, interrupted);
    progress.end();
    if (!quiet) console.say(fmt::format("{}: {}", each.problem.key(), summary_text(summary, store)));
    for (const std::string& refusal : summary.refusals) console.say(refusal);
    measured.whole = measured.whole && !summary.interrupted && summary.without_winner == 0 && summary.lost.empty();
    if (summary.interrupted) break;
  }
  return measured;
}

/// Devices whose winners the account is told of: those asked for, else those that have a winner for any part of it.
std::vector<DeviceFacts> devices_for(const Store& store, const Arguments& arguments, const std::vector<ToTune>& all,
                                     const std::vector<std::string>& measured, MeasureMode mode) {
  std::vector<DeviceFacts> devices;
  for (DeviceFacts& device : choose_devices(store, measured.empty() ? arguments.text("device") : "")) {
    const std::string fingerprint = device.fingerprint();
    const bool asked = measured.empty() ? arguments.has("device")
                                        : std::find(measured.begin(), measured.end(), fingerprint) != measured.end();
    const bool has = measured.empty() && std::any_of(all.begin(), all.end(), [&](const ToTune& each) {
                       const std::string hash = each.definition->interface.hash();
                       return store.winner_of({each.problem, hash, fingerprint}, mode, WinnerRole::best).has_value();
                     });
    if (asked || has) devices.push_back(std::move(device));
  }
  return devices;
}

void print(const FusionAccount& account, Format format, Console& console) {
  console.print(fusion_table(account), format);
  if (format == Format::json || format == Format::csv) return;
  console.print("\n");
  console.print(verdict_table(account), format);
}

ExitCode run(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  const ProblemWords words = read_problem_words(arguments);
  const MeasureMode mode = mode_of(arguments).value_or(MeasureMode::cold);
  Catalogue catalogue = open_catalogue(arguments);
  const OpDefinition& fused = catalogue.find(words.op);
  const Problem problem = to_problem(words, fused.interface);
  // What is wrong with the definition or the shape is told before anything is opened.
  static_cast<void>(fusion_account(nullptr, catalogue, fused, problem, std::nullopt, mode));
  const std::vector<ToTune> all = compared(fused, problem, catalogue);

  Measured measured;
  if (arguments.has("measure")) {
    watch_interrupts();
    measured = measure(arguments, all, catalogue, console);
    if (measured.devices.empty()) return ExitCode::partly;
  }
  // Bytes need no cache, so that an op's account can be read before anything was tuned.
  std::vector<DeviceFacts> devices;
  std::string unusable;
  const std::optional<Store> store =
      arguments.has("cache") ? std::optional<Store>(open_to_read(arguments)) : cache_if_usable(arguments, unusable);
  if (!unusable.empty()) console.say(fmt::format("By bytes alone: {}", unusable));
  if (store) {
    devices = devices_for(*store, arguments, all, measured.devices, mode);
  } else if (arguments.has("device")) {
    devices = {facts_of_arch(arguments.text("device"))};
  }
  if (devices.empty()) {
    print(fusion_account(nullptr, catalogue, fused, problem, std::nullopt, mode), format, console);
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (i > 0 && format == Format::text) console.print("\n");
    print(fusion_account(store ? &*store : nullptr, catalogue, fused, problem, devices[i], mode), format, console);
  }
  return measured.whole ? ExitCode::done : ExitCode::partly;
}

}  // namespace

Verb fusion_verb() {
  Verb verb;
  verb.name = "fusion";
  verb.summary = "Account for a fused op: what its unfused chain moves and takes, and whether fusing pays";
  verb.usage = "OP NAME=VALUE... [OPTION...]";
  verb.description = {
      "Bytes of the unfused chain, which the op's definition names step by step, and bytes fused; the speed-up that "
      "the "
      "measured ceilings predict; the measured one where every step is an op and the cache has winners of both sides "
      "for "
      "this shape; and a verdict with its reasons: traffic, what bounds the chain, parallel axes, shared memory.",
      "With --measure what the cache lacks is tuned first: the fused op and each step, on the device that --device "
      "names. Without it nothing is opened.",
  };
  verb.options = {
      {.name = "measure", .value = "", .help = "Tune what has no winner yet, as sweep does."},
      {.name = "device",
       .value = "NAME",
       .help = "A device of the cache by its name or a part of it. With --measure: auto (default), cpu, or cuda:N.",
       .takes = Takes::stored_device},
      kMode,
      {"budget", "TIME", "With --measure: of each sweep, such as 60s or 5m. Default: no bound."},
      {"budget-ms", "N", "With --measure: longest measurement of one config, in milliseconds. Default: 60."},
      {.name = "strategy",
       .value = "NAME",
       .help = "With --measure: how configs are searched, as sweep does it. Default: race.",
       .words = strategy_names()},
      {"max-configs", "N", "With --measure: configs considered for each op; 0: all. Default: all, on the emulator 24."},
      {"max-trials", "N", "With --measure: configs tried for each op. Default: no bound."},
      {"jobs", "N", "With --measure: compile workers. Default: one a core."},
      {"again", "", "With --measure: tune what has winners, too."},
      {"no-ceilings", "", "With --measure: do not measure the ceilings that predictions rest on."},
      {"quiet", "", "With --measure: no progress."},
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {
      {"tilewright fusion add_rmsnorm_silu rows=4096 cols=8192 dtype=bf16",
       "What the fusion saves, by what the cache has."},
      {"tilewright fusion swiglu rows=5 cols=64 --measure --device cpu", "Both sides measured on the emulator."},
  };
  verb.exit_codes =
      "0 done, 1 the cache cannot be read, 2 the command line is wrong or the op names no chain, 3 --measure was "
      "interrupted or something could not be tuned.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
