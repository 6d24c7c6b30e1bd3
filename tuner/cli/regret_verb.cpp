// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/regret.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "cache/base/error.hpp"
#include "tuner/app/drawn_problems.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/output_file.hpp"
#include "tuner/cli/progress.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/tuning_options.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

void refuse_without_measure(const Arguments& arguments) {
  if (arguments.has("measure")) return;
  for (const char* const option : {"seeded", "within", "seed", "into", "budget", "budget-ms", "strategy", "max-configs",
                                   "max-trials", "jobs", "timeout"}) {
    if (arguments.has(option)) throw UsageError(fmt::format("--{} goes with --measure", option));
  }
}

RegretSetting setting_of(const Arguments& arguments) {
  RegretSetting setting;
  setting.left_out = arguments.has("alone") ? LeftOut::itself : LeftOut::relatives;
  setting.servers = arguments.has("jit") ? Servers::compiled : Servers::kept;
  setting.exported = arguments.has("exported");
  setting.spares = static_cast<std::size_t>(arguments.integer("spares", 0, 0, 4096));
  return setting;
}

ExitCode run_regret(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  app::RegretRequest request{place_of(arguments),
                             read_problem_words(arguments),
                             arguments.text("shapes-file"),
                             arguments.text("device"),
                             mode_of(arguments).value_or(MeasureMode::cold),
                             setting_of(arguments),
                             arguments.has("each"),
                             std::nullopt};
  refuse_without_measure(arguments);
  if (arguments.has("measure")) {
    request.measuring = {tuning_of(arguments),
                         static_cast<std::size_t>(arguments.integer("seeded", 0, 1, app::kMostDrawn)),
                         arguments.text("within"), arguments.text("into")};
    if (arguments.has("within") && request.measuring->seeded == 0) throw UsageError("--within goes with --seeded");
    if (arguments.has("into")) OutputFile::refuse_cache(arguments.text("into"), app::cache_path(request.place));
    watch_interrupts();
  }
  Progress progress(console, arguments.has("quiet"));
  const std::optional<app::RegretResult> result = app::regret(request, progress);
  if (!result) return ExitCode::partly;
  console.print(result->table, format);
  if (result->cancelled) return ExitCode::partly;
  return result->shapes == 0 || result->failed > 0 ? ExitCode::failed : ExitCode::done;
}

}  // namespace

Verb regret_verb() {
  Verb verb;
  verb.name = "regret";
  verb.summary = "Estimate the loss at untuned shapes, by leaving out tuned ones";
  verb.usage = "OP [NAME=VALUES...] [OPTION...]";
  verb.description = {
      "Leaves out each tuned shape, together with the shapes that share a dim's value with it, and serves it from the "
      "rest by the launch library's rule. The loss is the served config's time against the true winner's, from the "
      "trials of the cache. dtype and attributes narrow the shapes; if dims or a file are "
      "given, only their shapes are judged.",
      "--measure fills gaps on the device: a config without a time at a shape that it would serve is checked and timed "
      "there, in turns with the shape's winner. It also judges untuned shapes, named or random: the whole cache serves "
      "them, and a sweep finds their winners. The cache itself is not written.",
      "Prints losses by region (dims within the same power of 16), and the shapes to tune next: half-way between a "
      "shape that loses more than 3 % and the shape that serves it.",
  };
  verb.options = {
      {"each", "", "One row per shape instead of per region."},
      {"alone", "", "Leave out only the shape itself, and keep the shapes that share a dim with it."},
      {"jit", "", "Serve as a launcher with a compiler does once its compiles are done."},
      {"exported", "",
       "Serve as an export of the rest does, which has only binaries of winners and spares. Spares chosen for random "
       "shapes stay. Spares that were nearly the best at tuned shapes stay while one of those shapes does."},
      {"spares", "N", "Serve with N spares per spec, as `tilewright prepare` would compile them from the rest."},
      {"measure", "", "Time untimed configs at the shapes that they would serve, and sweep untuned shapes."},
      {"shapes-file", "FILE",
       "Judge these shapes, from a CSV file: a header with the names of the dims, one shape per line."},
      {"seeded", "N",
       "With --measure: judge N random shapes for each dtype and attributes. They lie between the tuned shapes; those "
       "that share the fewest dims with a tuned shape of the op come first."},
      {"within", "TEXT", "Bounds of dims for --seeded: \"rows=1..128 cols=4096\"."},
      {"seed", "N", "Seed of all random choices. Default: 1."},
      {"into", "FILE",
       "With --measure: keep the sweeps in this cache, from which the same command "
       "continues. Default: a temporary cache."},
      {.name = "device",
       .value = "NAME",
       .help = "A device of the cache by its name or a part of it. With --measure: auto (default), cpu, or cuda:N.",
       .takes = Takes::stored_device},
      kMode,
      {"budget", "TIME", "With --measure: time for the sweep, such as 60s or 5m. Default: no limit."},
      {"budget-ms", "N", "With --measure: the longest measurement of one config, in milliseconds. Default: 60."},
      {.name = "strategy",
       .value = "NAME",
       .help = "With --measure: the strategy, as for sweep. Default: race.",
       .words = app::strategies()},
      {"max-configs", "N",
       "With --measure: configs considered for each shape; 0: all. Default: all; 24 on the emulator."},
      {"max-trials", "N", "With --measure: configs tried for each shape. Default: no limit."},
      {"jobs", "N", "With --measure: compile workers. Default: one per core."},
      {"timeout", "SECONDS",
       "With --measure: stop a config that makes no progress for this long. Default: 10; 90 on the emulator."},
      {"quiet", "", "With --measure: no progress."},
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {
      {"tilewright regret gemm", "The loss of gemm between its tuned shapes."},
      {"tilewright regret softmax dtype=bf16 --measure --seeded 40 --into judged.db", "The loss at 40 untuned shapes."},
      {"tilewright regret softmax rows=77 cols=5000 --measure --jit",
       "One shape, served by a launcher with a compiler."},
  };
  verb.exit_codes =
      "0 done, 1 there is no winner to judge, a config fails at a shape that it would serve, or the cache cannot be "
      "read, 2 the command line or a definition is wrong, 3 --measure was interrupted.";
  verb.run = run_regret;
  return verb;
}

}  // namespace tilewright::cli
