// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/shell.hpp"
#include "tuner/cli/stored_devices.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/search/regret.hpp"

namespace tilewright::cli {
namespace {

/// What is worth a shape more in the cache.
constexpr double kTolerated = 0.03;
constexpr std::size_t kMostToTune = 8;

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
          static_cast<std::int64_t>(summary.untimed + summary.unserved),
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
                   {"winner_ns", "winner's", Unit::nanoseconds}};
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
          regret.best_ns};
}

std::vector<std::string> sweeps_of(const std::vector<Problem>& problems, const Arguments& arguments) {
  std::vector<std::string> commands;
  for (const Problem& problem : problems) {
    commands.push_back(fmt::format("tilewright sweep \"{}\"{}", problem.key(), cache_option(arguments)));
  }
  return commands;
}

ExitCode run(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  const std::string& op = arguments.word(0, "the name of an op");
  arguments.require_at_most(1);
  const MeasureMode mode = mode_of(arguments).value_or(MeasureMode::cold);
  RegretSetting setting;
  setting.left_out = arguments.has("alone") ? LeftOut::itself : LeftOut::relatives;
  setting.servers = arguments.has("jit") ? Servers::compiled : Servers::kept;
  setting.exported = arguments.has("exported");
  setting.spares = static_cast<std::size_t>(std::clamp<std::int64_t>(arguments.integer("spares", 0, 0), 0, 4096));
  const Store store = open_to_read(arguments);
  const std::optional<OpInterface> interface = store.interface_of(op);
  if (!interface) throw UsageError(fmt::format("{} has no op '{}'{}", store.title(), op, suggestion(op, store.ops())));

  const std::string title =
      fmt::format("Regret of {}: each tuned shape left out{}, and served by the rest", op,
                  setting.left_out == LeftOut::relatives ? " with all that share a dim with it" : "");
  const bool each = arguments.has("each");
  Table table = each ? shapes_table(title) : regions_table(title);
  std::vector<Regret> all;
  for (const DeviceFacts& device : choose_devices(store, arguments.text("device"))) {
    std::map<std::string, OpSpec> specs;
    for (const WinnerRow& row :
         store.list_winners({.op = op, .fingerprint = device.fingerprint(), .mode = mode, .role = WinnerRole::best})) {
      if (row.interface_hash == interface->hash()) specs.emplace(row.problem.spec.text(), row.problem.spec);
    }
    for (const auto& [text, spec] : specs) {
      const std::vector<Regret> found = regrets(store, *interface, spec, device, mode, setting);
      for (const Region& region : by_region(found)) {
        if (!each) table.rows.push_back(region_cells(spec, device, region.text, summarise_regrets(region.regrets)));
      }
      for (const Regret& regret : found) {
        if (each) table.rows.push_back(shape_cells(regret, device));
      }
      all.insert(all.end(), found.begin(), found.end());
    }
  }
  const RegretSummary summary = summarise_regrets(all);
  if (all.empty()) {
    table.notes.push_back(
        fmt::format("{} has no winner of {}; make them with: tilewright sweep {}", store.title(), op, op));
  } else {
    table.notes.push_back(
        fmt::format("Over {} of {} shapes: mean loss {:.1f} %, 95th percentile {:.1f} %, worst {:.1f} %.",
                    summary.shapes - summary.untimed - summary.unserved, summary.shapes, 100 * summary.mean,
                    100 * summary.p95, 100 * summary.worst));
  }
  if (summary.untimed > 0) {
    table.notes.push_back(
        fmt::format("{} shapes were never timed with what would serve them: sweep them with --strategy exhaustive.",
                    summary.untimed));
  }
  if (const std::vector<Problem> next = shapes_to_tune(all, kTolerated, kMostToTune); !next.empty()) {
    table.advice.push_back({"Shapes to tune next, the greatest loss first:", sweeps_of(next, arguments)});
  }
  console.print(table, format);
  return all.empty() ? ExitCode::failed : ExitCode::done;
}

}  // namespace

Verb regret_verb() {
  Verb verb;
  verb.name = "regret";
  verb.summary = "Tell what shapes never tuned would lose, by leaving out those that are";
  verb.usage = "OP [OPTION...]";
  verb.description = {
      "Each tuned shape is left out together with every shape that has one of its dims' values, is served from the "
      "rest by the launch library's rule, and what serves it is compared with its true winner, by the trials that the "
      "cache has. Where the config was never timed at the shape, that is said; exhaustive sweeps leave no such gap.",
      "Losses are told by region (dims within the same power of 16), and which shapes to tune next: half-way between a "
      "shape that loses more than 3 % and the one that serves it.",
  };
  verb.options = {
      {"each", "", "A row for each shape instead of each region."},
      {"alone", "", "Leave out the shape alone, and keep those that share a dim with it."},
      {"jit", "", "Serve as a launcher that compiles would, once it has compiled what it wants."},
      {"exported", "", "Serve as an export of the rest would, which has the binaries of winners and spares alone."},
      {"spares", "N", "With so many spares a spec, as `tilewright prepare` would compile them from the rest."},
      kDevice,
      kMode,
      kCache,
      kFormat,
  };
  verb.examples = {{"tilewright regret gemm", "How well gemm is served between its tuned shapes."}};
  verb.exit_codes = "0 done, 1 there is no winner to judge or the cache cannot be read, 2 the command line is wrong.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
