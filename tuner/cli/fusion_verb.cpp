// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/fusion.hpp"

#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/progress.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/tuning_options.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/report/fusion_table.hpp"

namespace tilewright::cli {
namespace {

void print(const FusionAccount& account, Format format, Console& console) {
  console.print(fusion_table(account), format);
  console.print("\n");
  console.print(verdict_table(account), format);
}

ExitCode run_fusion(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  app::FusionRequest request{place_of(arguments), read_problem_words(arguments), arguments.text("device"),
                             mode_of(arguments).value_or(MeasureMode::cold), std::nullopt};
  if (arguments.has("measure")) {
    request.tuning = tuning_of(arguments);
    watch_interrupts();
  }
  Progress progress(console, arguments.has("quiet"));
  const app::FusionResult result = app::fusion(request, progress);
  const bool for_programs = format == Format::json || format == Format::csv;
  if (for_programs && !result.accounts.empty()) console.print(fusion_table(result.accounts), format);
  for (std::size_t i = 0; i < result.accounts.size() && !for_programs; ++i) {
    if (i > 0 && format == Format::text) console.print("\n");
    print(result.accounts[i], format, console);
  }
  return result.whole ? ExitCode::done : ExitCode::partly;
}

}  // namespace

Verb fusion_verb() {
  Verb verb;
  verb.name = "fusion";
  verb.summary = "Compare a fused op with its unfused chain: bytes, time, and whether fusing pays";
  verb.usage = "OP NAME=VALUE... [OPTION...]";
  verb.description = {
      "Prints the bytes of the fused op and of its unfused chain, which the op's definition lists step by step, and "
      "the speed-up: measured if every step is an op and the cache has winners of both sides for this shape, else "
      "estimated from the winners around, else predicted by the measured ceilings. The verdict is by the best of "
      "these, and 'either' if times differ by less than their error. Beside it are the reasons of a prediction: "
      "traffic, the chain's bound, parallel axes, shared memory.",
      "--measure first tunes the fused op and its steps if they have no winner, on the device that --device names. "
      "Without it no device is opened.",
  };
  verb.options = {
      {.name = "measure", .value = "", .help = "Tune problems without a winner, as sweep does."},
      {.name = "device",
       .value = "NAME",
       .help = "A device of the cache by its name or a part of it. With --measure: auto (default), cpu, or cuda:N.",
       .takes = Takes::stored_device},
      kMode,
      {"budget", "TIME", "With --measure: time for each sweep, such as 60s or 5m. Default: no limit."},
      {"budget-ms", "N", "With --measure: the longest measurement of one config, in milliseconds. Default: 60."},
      {.name = "strategy",
       .value = "NAME",
       .help = "With --measure: the strategy, as for sweep. Default: race.",
       .words = app::strategies()},
      {"max-configs", "N", "With --measure: configs considered for each op; 0: all. Default: all; 24 on the emulator."},
      {"max-trials", "N", "With --measure: configs tried for each op. Default: no limit."},
      {"jobs", "N", "With --measure: compile workers. Default: one per core."},
      {"again", "", "With --measure: also tune problems that have winners."},
      {"no-ceilings", "", "With --measure: do not measure the ceilings of the prediction."},
      {"quiet", "", "With --measure: no progress."},
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {
      {"tilewright fusion add_rmsnorm_silu rows=4096 cols=8192 dtype=bf16", "The saving, computed from the cache."},
      {"tilewright fusion swiglu rows=5 cols=64 --measure --device cpu", "Both sides measured on the emulator."},
  };
  verb.exit_codes =
      "0 done, 1 the cache cannot be read, 2 the command line is wrong or the op has no chain, 3 --measure was "
      "interrupted or a problem could not be tuned.";
  verb.run = run_fusion;
  return verb;
}

}  // namespace tilewright::cli
