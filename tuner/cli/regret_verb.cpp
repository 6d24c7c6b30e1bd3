// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/regret.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "cache/base/error.hpp"
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

constexpr std::int64_t kMostDrawn = 10'000;

void refuse_without_measure(const Arguments& arguments) {
  if (arguments.has("measure")) return;
  for (const char* const option :
       {"seeded", "seed", "into", "budget", "budget-ms", "strategy", "max-configs", "max-trials", "jobs", "timeout"}) {
    if (arguments.has(option)) throw UsageError(fmt::format("--{} goes with --measure", option));
  }
}

RegretSetting setting_of(const Arguments& arguments) {
  RegretSetting setting;
  setting.left_out = arguments.has("alone") ? LeftOut::itself : LeftOut::relatives;
  setting.servers = arguments.has("jit") ? Servers::compiled : Servers::kept;
  setting.exported = arguments.has("exported");
  setting.spares = static_cast<std::size_t>(std::clamp<std::int64_t>(arguments.integer("spares", 0, 0), 0, 4096));
  return setting;
}

ExitCode run(const Arguments& arguments, Console& console) {
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
                         static_cast<std::size_t>(std::min(kMostDrawn, arguments.integer("seeded", 0, 1))),
                         arguments.text("into")};
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
  verb.summary = "Tell what shapes never tuned would lose, by leaving out those that are";
  verb.usage = "OP [NAME=VALUES...] [OPTION...]";
  verb.description = {
      "Each tuned shape is left out together with every shape that has one of its dims' values, is served from the "
      "rest by the launch library's rule, and what serves it is compared with its true winner, by the trials that the "
      "cache has. dtype and attributes narrow that down; where dims are named or a file is, those shapes alone are "
      "judged.",
      "--measure finds out on the device what the cache does not know: a config that was never timed at a shape which "
      "it would serve is checked and timed there, in turns with the shape's winner. Shapes that are not tuned may be "
      "named or drawn then; they are served by all that the cache has, and swept to know their winners. The cache "
      "itself is not written to.",
      "Losses are told by region (dims within the same power of 16), and which shapes to tune next: half-way between a "
      "shape that loses more than 3 % and the one that serves it.",
  };
  verb.options = {
      {"each", "", "A row for each shape instead of each region."},
      {"alone", "", "Leave out the shape alone, and keep those that share a dim with it."},
      {"jit", "", "Serve as a launcher that compiles would, once it has compiled what it wants."},
      {"exported", "",
       "Serve as an export of the rest would, which has the binaries of winners and spares alone. Spares stay, "
       "whichever drawn shapes they were chosen by; those that were nearly the best somewhere stay while one such "
       "shape does."},
      {"spares", "N", "With so many spares a spec, as `tilewright prepare` would compile them from the rest."},
      {"measure", "",
       "Time on the device what was never timed where it would serve, and sweep shapes that are not tuned."},
      {"shapes-file", "FILE", "Judge these shapes, from a CSV file: a header with the dims' names, one shape a line."},
      {"seeded", "N",
       "With --measure: judge N drawn shapes for each dtype and attributes. They lie between the "
       "tuned ones; those that share the fewest dims with any of the op come first."},
      {"seed", "N", "Of all that is drawn. Default: 1."},
      {"into", "FILE",
       "With --measure: keep the sweeps in this cache; the same command goes on from there. Default: a cache that is "
       "gone at the end."},
      {.name = "device",
       .value = "NAME",
       .help = "A device of the cache by its name or a part of it. With --measure: auto (default), cpu, or cuda:N.",
       .takes = Takes::stored_device},
      kMode,
      {"budget", "TIME", "With --measure: of the sweep, such as 60s or 5m. Default: no bound."},
      {"budget-ms", "N", "With --measure: longest measurement of one config, in milliseconds. Default: 60."},
      {.name = "strategy",
       .value = "NAME",
       .help = "With --measure: how configs are searched, as sweep does it. Default: race.",
       .words = app::strategies()},
      {"max-configs", "N",
       "With --measure: configs considered for each shape; 0: all. Default: all, on the emulator 24."},
      {"max-trials", "N", "With --measure: configs tried for each shape. Default: no bound."},
      {"jobs", "N", "With --measure: compile workers. Default: one a core."},
      {"timeout", "SECONDS",
       "With --measure: stop a config that shows no progress for so long. Default: 10, on the emulator 90."},
      {"quiet", "", "With --measure: no progress."},
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {
      {"tilewright regret gemm", "How well gemm is served between its tuned shapes."},
      {"tilewright regret softmax dtype=bf16 --measure --seeded 40 --into judged.db",
       "How well 40 shapes are served that nobody tuned."},
      {"tilewright regret softmax rows=77 cols=5000 --measure --jit",
       "One shape, served as a launcher that compiles would."},
  };
  verb.exit_codes =
      "0 done, 1 there is no winner to judge, a shape would be served what fails there, or the cache cannot be read, 2 "
      "the command line or a definition is wrong, 3 --measure was interrupted.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
