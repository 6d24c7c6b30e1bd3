// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/problem_words.hpp"
#include "tuner/cli/progress.hpp"
#include "tuner/cli/replay.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/sweep_dry_run.hpp"
#include "tuner/cli/sweep_misses.hpp"
#include "tuner/cli/sweep_revalidate.hpp"
#include "tuner/cli/sweep_setup.hpp"
#include "tuner/cli/trial_devices.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/definition/shapes.hpp"
#include "tuner/definition/space.hpp"
#include "tuner/report/winner_lines.hpp"
#include "tuner/search/strategy.hpp"
#include "tuner/sweep/sweep.hpp"

namespace tilewright::cli {
namespace {

/// dtype and attributes with the values asked for, in the order typed.
using Choices = std::vector<std::pair<std::string, std::vector<std::string>>>;

void add_choices(Choices& choices, const std::string& name, const std::string& values) {
  auto found = std::find_if(choices.begin(), choices.end(), [&](const auto& choice) { return choice.first == name; });
  if (found == choices.end()) found = choices.insert(choices.end(), {name, {}});
  for (std::string& value : split_list(values)) found->second.push_back(std::move(value));
}

/// Every combination of the choices.
std::vector<OpSpec> specs_of(const OpInterface& interface, const Choices& choices) {
  std::vector<std::string> texts{""};
  for (const auto& [name, values] : choices) {
    std::vector<std::string> longer;
    for (const std::string& text : texts) {
      for (const std::string& value : values) {
        longer.push_back(fmt::format("{}{}{}={}", text, text.empty() ? "" : ",", name, value));
      }
    }
    texts = std::move(longer);
  }
  std::vector<OpSpec> specs;
  for (const std::string& text : texts) {
    specs.push_back(parse_spec(text.empty() ? interface.op : fmt::format("{}[{}]", interface.op, text), interface));
  }
  return specs;
}

/// Shapes and types of the command line, as problems.
std::vector<Problem> problems_of(const Arguments& arguments, const ProblemWords& words, const OpDefinition& definition,
                                 bool emulator) {
  const OpInterface& interface = definition.interface;
  Choices choices;
  std::string dims;
  for (const auto& [name, values] : words.named) {
    if (kind_of_name(name, interface) == NameKind::dim) {
      dims += fmt::format("{}{}={}", dims.empty() ? "" : " ", name, values);
    } else {
      add_choices(choices, name, values);
    }
  }
  if (arguments.has("dtype")) add_choices(choices, "dtype", arguments.text("dtype"));
  for (const std::string& typed : arguments.texts("attr")) {
    const std::size_t equals = typed.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(fmt::format("--attr takes NAME=VALUE, such as act=gelu, and was given '{}'", typed));
    }
    const std::string name = typed.substr(0, equals);
    if (kind_of_name(name, interface) != NameKind::attribute) {
      throw UsageError(fmt::format("{} is no attribute of {}: write {} behind the op", name, interface.op, typed));
    }
    add_choices(choices, name, typed.substr(equals + 1));
  }

  std::vector<std::string> texts = arguments.texts("shapes");
  if (!dims.empty()) texts.push_back(dims);
  std::vector<Problem> problems;
  for (const OpSpec& spec : specs_of(interface, choices)) {
    const auto add = [&](const std::vector<Problem>& more) {
      problems.insert(problems.end(), more.begin(), more.end());
    };
    for (const std::string& text : texts) add(parse_shapes(text, spec, interface));
    if (arguments.has("shapes-file")) add(read_shapes_csv(arguments.text("shapes-file"), spec, interface));
    if (texts.empty() && !arguments.has("shapes-file")) add(default_shapes(definition, spec, emulator));
  }
  return problems;
}

/// Those of a few problems: one constraint forbids many shapes.
std::string refusals_text(const std::vector<std::string>& refusals) {
  constexpr std::size_t kTold = 5;
  const std::size_t told = std::min(kTold, refusals.size());
  std::string text =
      fmt::format("{}", fmt::join(refusals.begin(), refusals.begin() + static_cast<std::ptrdiff_t>(told), "\n"));
  if (refusals.size() > told) text += fmt::format("\nand {} more problems", refusals.size() - told);
  return text;
}

/// The winners of the problems that were swept, in their order.
Table table_of(const Store& store, const SweepRequest& request, const std::vector<std::string>& fingerprints) {
  const std::string hash = request.definition->interface.hash();
  std::vector<WinnerLine> lines;
  std::vector<std::string> shown;
  for (const Problem& problem : request.problems) {
    if (std::find(shown.begin(), shown.end(), problem.key()) != shown.end()) continue;
    shown.push_back(problem.key());
    for (const std::string& fingerprint : fingerprints) {
      auto row = store.winner_of({problem, hash, fingerprint}, request.mode, WinnerRole::best);
      if (!row) continue;
      const Match match{Fit::exact, Freshness::fresh, DeviceFit::same_device};
      lines.push_back(winner_line(store, request.definition, std::move(*row), match));
    }
  }
  return winners_table(fmt::format("Winners of {}", request.definition->interface.op), lines);
}

/// Each makes of a sweep something else.
void require_one_kind(const Arguments& arguments) {
  std::string first;
  for (const char* const kind : {"replay", "misses", "revalidate", "dry-run"}) {
    if (!arguments.has(kind)) continue;
    if (!first.empty()) throw UsageError(fmt::format("--{} and --{}: one of them at a time", first, kind));
    first = kind;
  }
}

ExitCode run(const Arguments& arguments, Console& console) {
  require_one_kind(arguments);
  if (arguments.has("replay")) return run_replay(arguments, console);
  watch_interrupts();
  if (arguments.has("misses")) return run_sweep_misses(arguments, console);
  if (arguments.has("revalidate")) return run_sweep_revalidate(arguments, console);
  const Format format = format_of(arguments);
  const ProblemWords words = read_problem_words(arguments);
  Catalogue catalogue = open_catalogue(arguments);
  SweepRequest request = sweep_request(arguments);
  request.definition = &catalogue.find(words.op);
  // Read once before anything is opened, so that a slip of the pen costs no time; the grid depends on the device.
  const auto problems = [&](bool emulator) { return problems_of(arguments, words, *request.definition, emulator); };
  (void)problems(false);
  if (arguments.has("dry-run")) return run_sweep_dry(arguments, console, request, problems);

  const bool quiet = arguments.has("quiet");
  Progress progress(console, quiet);
  const std::optional<SweepPlace> place = open_sweep(arguments, request, progress, console);
  if (!place) return ExitCode::partly;
  request.problems = problems(place->emulator);
  check_sizes(*request.definition, request.problems);
  if (arguments.has("config")) consider_one(arguments, request);

  DevicePool* const devices = place->devices.get();
  Store store(cache_path(arguments));
  SweepSummary summary = run_sweep(request, catalogue, *devices, store, progress, interrupted);
  const std::vector<std::string> unopened = devices->lost();
  summary.lost.insert(summary.lost.begin(), unopened.begin(), unopened.end());
  progress.end();
  if (!quiet) tell_summary(summary, store, console);
  Table table = table_of(store, request, devices->fingerprints());
  table.summary = summary_figures(summary);
  if (request.max_configs > 0) {
    table.notes.push_back(fmt::format("Of each problem's configs {} were considered; --max-configs 0 takes them all.",
                                      request.max_configs));
  }
  if (summary.interrupted) table.notes.push_back("Interrupted: what was measured is stored; run it again to go on.");
  if (summary.without_winner > 0) {
    table.notes.push_back(fmt::format("{} problems have no winner.", summary.without_winner));
  }
  for (const std::string& lost : summary.lost) table.notes.push_back(lost + ".");
  if (summary.left > 0) {
    table.notes.push_back(fmt::format("{} problems were left: run it again to tune them.", summary.left));
  }
  if (!summary.refusals.empty() && summary.refusals.size() == summary.problems && !summary.interrupted) {
    throw Error(refusals_text(summary.refusals) + "\nName other shapes, or widen the constraints of the definition");
  }
  console.print(table, format);
  if (!summary.refusals.empty()) console.say(refusals_text(summary.refusals));
  const bool partly = summary.interrupted || summary.without_winner > 0 || !summary.lost.empty();
  return partly ? ExitCode::partly : ExitCode::done;
}

/// What is tuned, where, and how it is measured.
std::vector<Option> measuring_options() {
  return {
      {"shapes", "TEXT", "Shapes, such as \"rows=1024,4096 cols=256..32768x2\".", true},
      {"shapes-file", "FILE", "Shapes from a CSV file: a header with the dims' names, one shape a line."},
      {.name = "dtype", .value = "LIST", .help = "Types to tune: bf16,f32.", .list = true, .takes = Takes::dtypes},
      {.name = "attr",
       .value = "NAME=LIST",
       .help = "Values of an attribute: act=gelu,relu. Default: the attribute's first.",
       .repeated = true,
       .takes = Takes::attributes},
      {.name = "device",
       .value = "NAME",
       .help = "auto (default: the first GPU, else the emulator), cpu, or cuda:N.",
       .takes = Takes::place},
      {.name = "devices",
       .value = "LIST",
       .help =
           "Several: all GPUs (all), or a list such as cuda:0,cuda:2. GPUs of one model share the problems, each of "
           "which is measured wholly on one; of different models each measures them all.",
       .list = true,
       .takes = Takes::place},
      {.name = "mode",
       .value = "MODE",
       .help = "cold (default): inputs not in L2; hot: inputs in L2; events: single cold launches.",
       .words = kMode.words},
      {.name = "regime",
       .value = "NAME",
       .help = "burst (default): the fastest where the power limit is not reached is served; sustained: of the "
               "finalists the fastest after a second of load. Both are stored.",
       .words = {"burst", "sustained"}},
      {"budget-ms", "N", "Longest measurement of one config, in milliseconds. Default: 60."},
      {"compile-timeout", "SECONDS", "Stop a compile that takes longer: compile_failed. Default: 120."},
  };
}

/// How it is searched, what else a sweep may do, and what all verbs have.
std::vector<Option> searching_options() {
  return {
      {.name = "strategy",
       .value = "NAME",
       .help =
           "race (default): a brief look at every config, longer ones at those that may be the fastest; exhaustive: "
           "every config wholly; random: in a drawn order; local: a walk from the winners of neighbouring shapes; "
           "model: what neighbouring shapes rank highest.",
       .words = strategy_names()},
      {"budget", "TIME", "Of the whole sweep, such as 60s or 5m; its problems share it. Default: no bound."},
      {"max-trials", "N", "Configs tried for each problem, besides those known. Default: no bound."},
      {"seed", "N", "Of all that is drawn. The same seed and the same times give the same search. Default: 1."},
      {"no-prune", "",
       "Try what would be left out since it cannot win, by what a model bounds or the compiler says, and what was left "
       "out "
       "before."},
      {"dry-run", "",
       "No sweep: tell what it would do, problem by problem, and how long it would take. --device may name a device of "
       "the "
       "cache that is not here."},
      {"replay", "FILE",
       "No sweep: run the strategy, or all of them, against the trials of an exhaustive sweep that FILE (export "
       "--trials) has, with no "
       "device, and tell what each asks for, how long it measures and how much slower its winner is."},
      {"misses", "",
       "Tune the shapes that applications asked for and that had no winner, of OP or of all ops, and forget those that "
       "then have one. No shapes are given."},
      {"revalidate", "",
       "Time again, in turns, the winners of OP or of all ops that were chosen under another driver, compiler, version "
       "or source, and those that led with them: each is kept, another is promoted, or all configs are searched again. "
       "No shapes are given."},
      {.name = "config",
       .value = "CONFIG",
       .help = "Consider this config alone; into a cache of its own, since it wins.",
       .takes = Takes::config},
      {"max-configs", "N",
       "Configs considered for each problem, chosen over the whole space; 0: all. Default: all, on the emulator 24."},
      {"jobs", "N", "Compile workers. Default: one a core."},
      {"again", "", "Measure what the cache has already, too."},
      {.name = "retry",
       .value = "LIST",
       .help = "Try again what failed so: compile_failed, exceeds_limits, wrong_result, timed_out, crashed, or all. "
               "Without it no failure is tried twice.",
       .words = {"compile_failed", "exceeds_limits", "wrong_result", "timed_out", "crashed", "all"},
       .list = true},
      {"timeout", "SECONDS",
       "Stop a config that shows no progress for so long: timed_out. Default: 10, less once a config is known to be "
       "much "
       "faster; on the emulator 90."},
      {"no-ceilings", "", "Do not measure the ceilings that the table compares with, nor the compute rate."},
      {"quiet", "", "No progress."},
      kLogFormat,
      kOps,
      kCache,
      kFormat,
  };
}

}  // namespace

Verb sweep_verb() {
  Verb verb;
  verb.name = "sweep";
  verb.summary = "Tune an op: compile, verify and measure its configs, and keep the winners";
  verb.usage = "OP [NAME=VALUES...] [OPTION...]";
  verb.description = {
      "Every config that is legal for a problem is compiled (each binary once), checked against the op's reference and "
      "measured; each trial is stored as soon as it is made, failures included. What the cache has already is not "
      "measured again, so a sweep that was interrupted or killed goes on where it stopped. Ends with the table of "
      "winners.",
      "Problems: NAME=VALUES names dims, attributes or dtype, and --shapes says the same in one text. VALUES are lists "
      "(1024,4096) and ranges: 256..32768x2 doubles, 256..1024+256 adds. Every combination is tuned. Where no dims are "
      "given, the grid of the op's definition is; where no dtype is given, the op's first.",
  };
  verb.options = measuring_options();
  std::ranges::move(searching_options(), std::back_inserter(verb.options));
  verb.examples = {
      {"tilewright sweep softmax", "The grid of the definition, on the GPU if there is one, else on the emulator."},
      {"tilewright sweep softmax --dtype bf16,f32 --shapes \"rows=256,4096 cols=1024..16384x4\"",
       "Two types, six shapes each."},
      {"tilewright sweep saxpy --ops ./my_ops n=1000000", "An op of your own."},
      {"tilewright sweep --replay sweep.db --strategy race", "How good race is, by a recorded sweep."},
      {"tilewright sweep gemm --dry-run --device H200", "What the cache lacks for that GPU."},
      {"tilewright sweep --misses", "What applications used on this GPU and nobody had tuned."},
      {"tilewright sweep --revalidate", "After a new driver or CUDA: are the winners still the fastest?"},
  };
  verb.exit_codes =
      "0 every problem has a winner, 1 failed, 2 the command line or a definition is wrong, 3 interrupted, some "
      "problem has no winner, or a GPU was lost.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
