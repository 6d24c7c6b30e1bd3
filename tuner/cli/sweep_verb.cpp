// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/base/holds.hpp"
#include "tuner/app/campaign.hpp"
#include "tuner/app/drawn_problems.hpp"
#include "tuner/app/dry_run.hpp"
#include "tuner/app/misses.hpp"
#include "tuner/app/replay.hpp"
#include "tuner/app/revalidate.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/progress.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/tuning_options.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

/// Throws UsageError for two options that each replace the sweep by something else.
void require_one_kind(const Arguments& arguments) {
  std::string first;
  // A dry run of tuned problems is a dry run of a sweep.
  for (const char* const kind : {"replay", "misses", "revalidate", arguments.has("tuned") ? "tuned" : "dry-run"}) {
    if (!arguments.has(kind)) continue;
    if (!first.empty()) throw UsageError(fmt::format("--{} and --{}: one of them at a time", first, kind));
    first = kind;
  }
}

/// --attr NAME=VALUES.
std::vector<std::pair<std::string, std::string>> attributes_of(const Arguments& arguments) {
  std::vector<std::pair<std::string, std::string>> attributes;
  for (const std::string& typed : arguments.texts("attr")) {
    const std::size_t equals = typed.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(fmt::format("--attr takes NAME=VALUE, such as act=gelu, and was given '{}'", typed));
    }
    attributes.emplace_back(typed.substr(0, equals), typed.substr(equals + 1));
  }
  return attributes;
}

/// Throws UsageError for a word that is neither an op nor NAME=VALUE.
void refuse_stray_words(const Arguments& arguments) {
  std::vector<std::string> ops;
  for (std::size_t i = 1; i < arguments.words().size(); ++i) {
    const std::string& word = arguments.words()[i];
    if (word.find_first_of("=[{") != std::string::npos) continue;
    if (ops.empty()) ops = app::open_catalogue(place_of(arguments)).names();
    if (holds(ops, word)) continue;
    throw UsageError(fmt::format("'{}' is neither NAME=VALUE nor an op{}", word, suggestion(word, ops)));
  }
}

/// The ops of the command line; --tuned needs none. --shapes allows one op; --dtype and --attr apply to all.
std::vector<app::ProblemGrid> grids_of(const Arguments& arguments) {
  if (!arguments.has("tuned")) static_cast<void>(arguments.word(0, "the name of an op"));
  refuse_stray_words(arguments);
  std::vector<app::ProblemGrid> grids;
  for (app::ProblemWords& words : app::read_words_of_ops(arguments.words())) {
    app::ProblemGrid& grid = grids.emplace_back();
    grid.words = std::move(words);
    grid.shapes = arguments.texts("shapes");
    grid.shapes_file = arguments.text("shapes-file");
    if (arguments.has("dtype")) grid.words.named.emplace_back("dtype", arguments.text("dtype"));
    grid.attributes = attributes_of(arguments);
    grid.seeded = static_cast<std::size_t>(arguments.integer("seeded", 0, 1, app::kMostDrawn));
    grid.within = arguments.text("within");
    if (arguments.has("within") && grid.seeded == 0) throw UsageError("--within goes with --seeded");
  }
  for (const char* const option : {"shapes", "shapes-file", "config"}) {
    if (grids.size() < 2 || !arguments.has(option)) continue;
    throw UsageError(
        fmt::format("--{} is of one op, and {} are named: write NAME=VALUES after each", option, grids.size()));
  }
  return grids;
}

/// Throws UsageError for options that have no meaning for this kind of sweep.
void refuse(const Arguments& arguments, const std::vector<const char*>& options, const std::string& why) {
  for (const char* const option : options) {
    if (arguments.has(option)) throw UsageError(fmt::format("{}: --{} does not go with it", why, option));
  }
}

/// OP, or empty if it is left out.
std::string op_of(const Arguments& arguments) {
  arguments.require_at_most(1);
  return arguments.words().empty() ? "" : arguments.words().front();
}

/// Prints the conclusion, and returns the exit code. `whole`: everything was done.
ExitCode conclude(const Arguments& arguments, Progress& progress, bool whole) {
  if (progress.conclude(failures_of(arguments, "fail-on"))) return ExitCode::failed;
  return whole ? ExitCode::done : ExitCode::partly;
}

ExitCode run_replay(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  if (arguments.has("budget")) throw UsageError("--budget bounds a sweep; a replay takes no time: use --max-trials");
  refuse(arguments,
         {"devices", "config", "campaign", "seeded", "within", "max-configs", "again", "retry", "regime", "budget-ms",
          "fail-on"},
         "--replay measures nothing");
  app::ReplayRequest request;
  request.place = place_of(arguments);
  request.recording = arguments.text("replay");
  if (arguments.has("strategy")) request.strategies = {arguments.text("strategy")};
  if (!arguments.words().empty()) request.problems = read_problem_words(arguments);
  request.shapes = arguments.texts("shapes");
  request.shapes_file = arguments.text("shapes-file");
  request.attributes = attributes_of(arguments);
  if (arguments.has("dtype")) request.attributes.emplace_back("dtype", arguments.text("dtype"));
  request.device = arguments.text("device");
  request.seed = static_cast<std::uint64_t>(arguments.integer("seed", 1, 0));
  request.max_trials = static_cast<std::size_t>(arguments.integer("max-trials", 0, 1));
  console.print(app::replay(request), format);
  return ExitCode::done;
}

ExitCode run_misses(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  const std::string op = op_of(arguments);
  refuse(arguments, {"shapes", "shapes-file", "seeded", "within", "dtype", "attr", "config", "campaign"},
         "--misses takes its shapes from the misses");
  Progress progress(console, arguments.has("quiet"));
  const app::MissesResult result = app::sweep_misses({place_of(arguments), tuning_of(arguments), op}, progress);
  if (result.table) console.print(*result.table, format);
  return conclude(arguments, progress, result.whole);
}

ExitCode run_revalidate(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  app::RevalidateRequest request{place_of(arguments), {}, op_of(arguments), std::nullopt};
  refuse(arguments, {"shapes", "shapes-file", "seeded", "within", "dtype", "attr", "config", "campaign"},
         "--revalidate takes its shapes from the stale winners");
  request.tuning = tuning_of(arguments);
  if (arguments.has("regime")) request.regime = request.tuning.search.regime;
  Progress progress(console, arguments.has("quiet"));
  const app::RevalidateResult result = app::revalidate(request, progress);
  if (result.table) console.print(*result.table, format);
  return conclude(arguments, progress, result.whole);
}

/// Devices and budget of the command line override those of the file.
void take_campaign(const Arguments& arguments, app::SweepProblems& request) {
  arguments.require_at_most(0);
  refuse(arguments, {"shapes", "shapes-file", "seeded", "within", "dtype", "attr", "config", "tuned"},
         "--campaign names its problems in the file");
  app::Campaign campaign = app::read_campaign(arguments.text("campaign"));
  request.grids = std::move(campaign.grids);
  if (!campaign.devices.empty() && !arguments.has("device") && !arguments.has("devices")) {
    request.tuning.work.devices = std::move(campaign.devices);
  }
  if (!arguments.has("budget")) request.tuning.budget = campaign.budget;
}

ExitCode run_sweep(const Arguments& arguments, Console& console) {
  require_one_kind(arguments);
  if (arguments.has("replay")) return run_replay(arguments, console);
  watch_interrupts();
  if (arguments.has("misses")) return run_misses(arguments, console);
  if (arguments.has("revalidate")) return run_revalidate(arguments, console);
  const Format format = format_of(arguments);
  app::SweepProblems request{place_of(arguments), tuning_of(arguments), {}, arguments.text("config")};
  if (arguments.has("campaign")) {
    take_campaign(arguments, request);
  } else {
    request.tuned = arguments.has("tuned");
    if (request.tuned) {
      refuse(arguments, {"shapes", "shapes-file", "seeded", "within", "dtype", "attr", "config"},
             "--tuned takes its problems from the winners, which OP NAME=VALUES narrows");
    }
    request.grids = grids_of(arguments);
  }
  Progress progress(console, arguments.has("quiet"));
  if (arguments.has("dry-run")) {
    const std::optional<Table> table = app::forecast(request, progress);
    if (table) console.print(*table, format);
    return table ? ExitCode::done : ExitCode::partly;
  }
  const std::optional<app::SweepResult> result = app::sweep(request, progress);
  if (!result) return ExitCode::partly;
  console.print(result->tables, format);
  if (!result->refusals.empty()) console.say(result->refusals);
  return conclude(arguments, progress, app::is_whole(result->summary));
}

/// Options of problems, devices and measurement.
std::vector<Option> measuring_options() {
  return {
      {"shapes", "TEXT", "Shapes, such as \"rows=1024,4096 cols=256..32768x2\".", true},
      {"campaign", "FILE",
       "A file of ops with dtypes, attributes and shapes, devices and a budget (docs/tuning.md). Takes no OP."},
      {"shapes-file", "FILE", "Shapes from a CSV file: a header with the names of the dims, one shape per line."},
      {"seeded", "N",
       "Tune N random shapes of each dtype and attributes, drawn between those tuned on the device. Shapes that share "
       "the fewest dims with a tuned one come first. `tilewright prepare` then learns from them. Takes no shapes."},
      {"within", "TEXT", "Bounds of dims for --seeded: \"rows=1..128 cols=4096\"."},
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
       .help = "Several devices: all (GPUs), or a list such as cuda:0,cuda:2. GPUs of one model share the problems; "
               "one GPU measures a whole problem. GPUs of different models each measure all problems.",
       .list = true,
       .takes = Takes::place},
      {.name = "mode",
       .value = "MODE",
       .help = "cold (default): inputs not in L2; hot: inputs in L2; events: single cold launches.",
       .words = kMode.words},
      {.name = "regime",
       .value = "NAME",
       .help = "burst (default) serves the config that is fastest below the power limit; sustained serves the finalist "
               "that is fastest after a second of load, and stores both times.",
       .words = {"burst", "sustained"}},
      {"budget-ms", "N", "The longest measurement of one config, in milliseconds. Default: 60."},
      kCompileTimeout,
  };
}

/// Options of the search, of other kinds of sweep, and of all verbs.
std::vector<Option> searching_options() {
  return {
      {.name = "strategy",
       .value = "NAME",
       .help = "race (default): a brief look at every config, longer looks at the likely fastest; exhaustive: a whole "
               "measurement of every config; random: a random order; local: a walk from the winners of neighbouring "
               "shapes; model: the configs that neighbouring shapes rank highest.",
       .words = app::strategies()},
      {"budget", "TIME", "Time for the whole sweep, such as 60s or 5m; its problems share it. Default: no limit."},
      {"max-trials", "N", "Configs tried for each problem, besides stored ones. Default: no limit."},
      {"seed", "N", "Seed of all random choices. The same seed and the same times give the same search. Default: 1."},
      {"no-prune", "",
       "Also try configs that cannot win by a model's bound or the compiler's report, and "
       "those that earlier sweeps pruned."},
      {"dry-run", "",
       "Print the work and duration of the sweep for each problem, and do nothing. --device may name a device of the "
       "cache that is not in this machine."},
      {"replay", "FILE",
       "Run the strategy, or every strategy, against the recorded exhaustive sweep in FILE (export --trials), without "
       "a device. Prints its trials, its measuring time and the loss of its winners."},
      {"misses", "",
       "Tune the shapes, of OP or of all ops, that applications asked for and that had no winner. Shapes that then "
       "have a winner are forgotten. Takes no shapes."},
      {"revalidate", "",
       "Time stale winners of OP or of all ops again, in turns with their runners-up and ties. A winner is stale if it "
       "was chosen under another driver, compiler or source. It is kept, another is promoted, or all configs are "
       "searched again. Takes no shapes."},
      {"tuned", "",
       "Sweep the problems of OP, or of all ops, that have a winner on the device; NAME=VALUES narrows them. Tries "
       "what is left there, such as the configs of a new implementation. Takes no shapes."},
      {.name = "config",
       .value = "CONFIG",
       .help = "Consider only this config. Give it a cache of its own: it becomes the winner there.",
       .takes = Takes::config},
      {"max-configs", "N",
       "Configs considered for each problem, spread over the space; 0: all. Default: all; 24 on the emulator."},
      kJobs,
      {"again", "", "Also measure configs that already have trials."},
      {.name = "retry",
       .value = "LIST",
       .help = "Try configs with these failures again: compile_failed, exceeds_limits, wrong_result, timed_out, "
               "crashed, or all. Default: none.",
       .words = {"compile_failed", "exceeds_limits", "wrong_result", "timed_out", "crashed", "all"},
       .list = true},
      {.name = "fail-on",
       .value = "LIST",
       .help = "Exit with 1 if a config of these problems has such a failure, from this sweep or an "
               "earlier one. Values as for --retry.",
       .words = {"compile_failed", "exceeds_limits", "wrong_result", "timed_out", "crashed", "all"},
       .list = true},
      {"timeout", "SECONDS",
       "Stop a config that makes no progress for this long, with status timed_out. Default: 10, less once a much "
       "faster config is known; 90 on the emulator."},
      {"no-ceilings", "", "Do not measure the table's ceilings and compute rate."},
      {"quiet", "", "Print no progress. Wrong, crashed and hung configs are still reported."},
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
  verb.usage = "[OP [NAME=VALUES...]]... [OPTION...]";
  verb.description = {
      "Compiles each config that is legal for a problem (each binary once), checks it against the op's reference and "
      "measures it. Each trial is stored at once, failures included. Stored trials are not measured again, so an "
      "interrupted or killed sweep continues when it is run again. If configs are left to try, another GPU of the same "
      "model times the base and configs within 10 % of the fastest anew; the stored winner stays until that GPU has "
      "timed it. The sweep ends with the table of winners.",
      "Problems: NAME=VALUES sets dims, attributes or dtype; --shapes sets the same in one text. VALUES are lists "
      "(1024,4096) and ranges: 256..32768x2 doubles, 256..1024+256 adds. Every combination is tuned. Without dims, the "
      "grid of the op's definition is tuned; without dtype, the op's first type.",
  };
  verb.options = measuring_options();
  std::ranges::move(searching_options(), std::back_inserter(verb.options));
  verb.examples = {
      {"tilewright sweep softmax", "The definition's grid, on the first GPU, else on the emulator."},
      {"tilewright sweep softmax --dtype bf16,f32 --shapes \"rows=256,4096 cols=1024..16384x4\"",
       "Two types, six shapes each."},
      {"tilewright sweep rmsnorm rows=4096 cols=8192 \"gemm[dtype=bf16]{m=64,n=4096,k=4096}\"", "Two ops."},
      {"tilewright sweep --campaign transformer-7b.toml", "All ops of a file, such as for a nightly run."},
      {"tilewright sweep saxpy --ops ./my_ops n=1000000", "An op of your own."},
      {"tilewright sweep --replay sweep.db --strategy race", "The quality of race, judged on a recorded sweep."},
      {"tilewright sweep gemm --dry-run --device H200", "The work that the cache lacks for that GPU."},
      {"tilewright sweep softmax dtype=bf16 --seeded 40", "Random shapes, for `tilewright prepare` to learn from."},
      {"tilewright sweep --misses", "The untuned shapes that applications used on this GPU."},
      {"tilewright sweep --tuned --dry-run --device H200",
       "What new implementations leave to try at the tuned problems."},
      {"tilewright sweep --revalidate", "After a new driver or CUDA: are the winners still the fastest?"},
  };
  verb.exit_codes =
      "0 every problem has a winner, 1 failed, or a config has a failure that --fail-on names, 2 the command line or a "
      "definition is wrong, 3 interrupted, a problem has no winner, the base failed, or a GPU was lost.";
  verb.run = run_sweep;
  return verb;
}

}  // namespace tilewright::cli
