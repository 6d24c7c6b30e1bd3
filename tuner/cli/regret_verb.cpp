// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/problem_words.hpp"
#include "tuner/cli/regret_measure.hpp"
#include "tuner/cli/regret_shapes.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/shell.hpp"
#include "tuner/cli/stored_devices.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/learn/regret.hpp"
#include "tuner/search/strategy.hpp"

namespace tilewright::cli {
namespace {

/// What is worth a shape more in the cache.
constexpr double kTolerated = 0.03;
constexpr std::size_t kMostToTune = 8;
constexpr std::int64_t kMostDrawn = 10'000;

Cell optional_cell(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

Table regions_table(const std::string& title) {
  Table table;
  table.title = title;
  table.columns = {{"spec", "spec", Unit::none, Shown::everywhere, true, true},
                   {"device", "device", Unit::none, Shown::everywhere, true},
                   {"region", "region", Unit::none, Shown::everywhere, false, true},
                   {"shapes", "shapes"},
                   {"untimed", "untimed"},
                   {"mean_loss", "mean loss", Unit::share},
                   {"p95_loss", "95 %", Unit::share},
                   {"worst_loss", "worst", Unit::share},
                   {"worst_at", "at", Unit::none, Shown::everywhere, false, true}};
  return table;
}

std::vector<Cell> region_cells(const OpSpec& spec, const DeviceFacts& device, const std::string& region,
                               const RegretSummary& summary) {
  const bool is_known = summary.worst_at.has_value();
  std::string at;
  if (is_known) {
    for (const auto& [name, value] : summary.worst_at->dims) {
      at += fmt::format("{}{}={}", at.empty() ? "" : ",", name, value);
    }
  }
  return {spec.text(),
          device.fingerprint(),
          region,
          static_cast<std::int64_t>(summary.shapes),
          static_cast<std::int64_t>(summary.untimed + summary.unserved + summary.failed),
          is_known ? Cell(summary.mean) : Cell(),
          is_known ? Cell(summary.p95) : Cell(),
          is_known ? Cell(summary.worst) : Cell(),
          is_known ? Cell(at) : Cell()};
}

Table shapes_table(const std::string& title) {
  Table table;
  table.title = title;
  table.columns = {{"problem", "problem", Unit::none, Shown::everywhere, false, true},
                   {"device", "device", Unit::none, Shown::everywhere, true},
                   {"loss", "loss", Unit::share},
                   {"fit", "served as"},
                   {"served", "served", Unit::none, Shown::everywhere, false, true},
                   {"tuned_for", "tuned for", Unit::none, Shown::everywhere, false, true},
                   {"served_ns", "its time", Unit::nanoseconds},
                   {"winner", "winner", Unit::none, Shown::everywhere, false, true},
                   {"winner_ns", "winner's", Unit::nanoseconds},
                   {"failure", "failure", Unit::none, Shown::programs}};
  return table;
}

std::vector<Cell> shape_cells(const Regret& regret, const DeviceFacts& device) {
  return {regret.problem.key(),
          device.fingerprint(),
          optional_cell(regret.loss()),
          std::string(name(regret.match.fit)),
          regret.served ? Cell(regret.served->text()) : Cell(),
          regret.tuned_for ? Cell(regret.tuned_for->key()) : Cell(),
          optional_cell(regret.served_ns),
          regret.winner.text(),
          regret.best_ns,
          regret.failure.empty() ? Cell() : Cell(regret.failure)};
}

std::vector<std::string> sweeps_of(const std::vector<Problem>& problems, const Arguments& arguments) {
  std::vector<std::string> commands;
  for (const Problem& problem : problems) {
    commands.push_back(fmt::format("tilewright sweep \"{}\"{}", problem.key(), cache_option(arguments)));
  }
  return commands;
}

/// What the options mean in words.
std::string title_of(const std::string& op, const RegretSetting& setting, bool named) {
  const std::string others = setting.left_out == LeftOut::relatives ? " with all that share a dim with it" : "";
  if (named) return fmt::format("Regret of {}: named shapes, each left out in turn if it is tuned", op);
  return fmt::format("Regret of {}: each tuned shape left out{}, and served by the rest", op, others);
}

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

/// What all of it amounts to, and what it lacks.
void tell_of(const std::vector<Regret>& all, const RegretSummary& summary, bool measured, Table& table) {
  table.notes.push_back(
      fmt::format("Over {} of {} shapes: mean loss {:.1f} %, 95th percentile {:.1f} %, worst {:.1f} %.",
                  summary.shapes - summary.untimed - summary.unserved - summary.failed, summary.shapes,
                  100 * summary.mean, 100 * summary.p95, 100 * summary.worst));
  for (const Regret& regret : all) {
    if (regret.failure.empty()) continue;
    table.notes.push_back(
        fmt::format("{} would be served {}: {}.", regret.problem.key(), regret.served->text(), regret.failure));
  }
  if (summary.untimed > 0 && !measured) {
    table.notes.push_back(
        fmt::format("{} shapes were never timed with what would serve them: --measure does so.", summary.untimed));
  }
}

ExitCode run(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  const ProblemWords words = read_problem_words(arguments);
  refuse_without_measure(arguments);
  const MeasureMode mode = mode_of(arguments).value_or(MeasureMode::cold);
  RegretSetting setting = setting_of(arguments);
  const auto seeded = static_cast<std::size_t>(std::min(kMostDrawn, arguments.integer("seeded", 0, 1)));
  const Store store = open_to_read(arguments);
  const std::optional<OpInterface> interface = store.interface_of(words.op);
  if (!interface) {
    throw UsageError(fmt::format("{} has no op '{}'{}", store.title(), words.op, suggestion(words.op, store.ops())));
  }
  // Read before a device is opened, so that a slip of the pen costs no time.
  const bool named = !dims_text(words, *interface).empty() || seeded > 0;
  std::unique_ptr<RegretMeasure> measure;
  std::vector<DeviceFacts> devices;
  if (arguments.has("measure")) {
    watch_interrupts();
    measure = RegretMeasure::open(arguments, console, store, *interface);
    if (!measure) return ExitCode::partly;
    setting.truth = &measure->swept();
    devices = {measure->device()};
  } else {
    devices = choose_devices(store, arguments.text("device"));
  }
  std::vector<std::string> notes;
  const std::vector<JudgedShapes> parts =
      judged_shapes(store, words, *interface, devices, mode, seeded, measure.get(), notes);
  if (measure) measure->sweep(parts);

  const bool each = arguments.has("each");
  const std::string title = title_of(words.op, setting, named);
  Table table = each ? shapes_table(title) : regions_table(title);
  std::vector<Regret> all;
  for (const JudgedShapes& part : parts) {
    setting.judged = part.shapes;
    std::vector<Regret> found = regrets(store, *interface, part.spec, part.device, mode, setting);
    if (measure) measure->time(found, mode);
    for (const Region& region : by_region(found)) {
      if (each) continue;
      table.rows.push_back(region_cells(part.spec, part.device, region.text, summarise_regrets(region.regrets)));
    }
    for (const Regret& regret : found) {
      if (each) table.rows.push_back(shape_cells(regret, part.device));
    }
    all.insert(all.end(), found.begin(), found.end());
  }
  const RegretSummary summary = summarise_regrets(all);
  if (all.empty()) {
    const std::string where = measure ? fmt::format(" on {}", measure->device().fingerprint())
                              : named ? " there: --measure judges shapes not tuned"
                                      : "";
    table.notes.push_back(fmt::format("{} has no winner of {}{}; make them with: tilewright sweep {}", store.title(),
                                      words.op, where, words.op));
  } else {
    tell_of(all, summary, measure != nullptr, table);
  }
  if (measure) notes.insert(notes.end(), measure->notes().begin(), measure->notes().end());
  if (interrupted()) notes.emplace_back("Interrupted: what is missing was not measured.");
  table.notes.insert(table.notes.end(), notes.begin(), notes.end());
  if (const std::vector<Problem> next = shapes_to_tune(all, kTolerated, kMostToTune); !next.empty()) {
    table.advice.push_back({"Shapes to tune next, the greatest loss first:", sweeps_of(next, arguments)});
  }
  console.print(table, format);
  if (interrupted()) return ExitCode::partly;
  return all.empty() || summary.failed > 0 ? ExitCode::failed : ExitCode::done;
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
      "cache has. dtype and attributes narrow that down; where dims are named, those shapes alone are judged.",
      "--measure finds out on the device what the cache does not know: a config that was never timed at a shape which "
      "it "
      "would serve is checked and timed there, in turns with the shape's winner. Shapes that are not tuned may be "
      "named or "
      "drawn then; they are served by all that the cache has, and swept to know their winners. The cache itself is not "
      "written to.",
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
      {"seeded", "N",
       "With --measure: judge N drawn shapes for each dtype and attributes. They lie between the "
       "tuned ones and share no dim with any of the op."},
      {"seed", "N", "Of all that is drawn. Default: 1."},
      {"into", "FILE",
       "With --measure: keep the sweeps in this cache; the same command goes on from there. Default: a cache that is "
       "gone "
       "at the end."},
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
       .words = strategy_names()},
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
      "the "
      "command line or a definition is wrong, 3 --measure was interrupted.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
