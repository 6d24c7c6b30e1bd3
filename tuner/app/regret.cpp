// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/regret.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "tuner/app/commands.hpp"
#include "tuner/app/lessons.hpp"
#include "tuner/app/pin.hpp"
#include "tuner/app/regret_measure.hpp"
#include "tuner/app/regret_shapes.hpp"
#include "tuner/app/stored_devices.hpp"

namespace tilewright::app {
namespace {

/// A loss that is worth one more shape in the cache.
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

std::vector<std::string> sweeps_of(const std::vector<Problem>& problems, const Place& place) {
  std::vector<std::string> commands;
  for (const Problem& problem : problems) {
    commands.push_back(fmt::format("tilewright sweep \"{}\"{}", problem.key(), cache_option(place)));
  }
  return commands;
}

/// The options in words.
std::string title_of(const std::string& op, const RegretSetting& setting, bool named) {
  const std::string others = setting.left_out == LeftOut::relatives ? " with the shapes that share a dim with it" : "";
  if (named) return fmt::format("Regret of {}: named shapes, each left out in turn if it is tuned", op);
  return fmt::format("Regret of {}: each tuned shape left out{}, and served by the rest", op, others);
}

/// Adds the totals, the failures and the shapes without a time.
void tell_of(const std::vector<Regret>& all, const RegretSummary& summary, bool measured, Table& table) {
  table.notes.push_back(fmt::format("Over {} of {}: mean loss {:.1f} %, 95th percentile {:.1f} %, worst {:.1f} %.",
                                    summary.shapes - summary.untimed - summary.unserved - summary.failed,
                                    counted(summary.shapes, "shape"), 100 * summary.mean, 100 * summary.p95,
                                    100 * summary.worst));
  for (const Regret& regret : all) {
    if (regret.failure.empty()) continue;
    table.notes.push_back(
        fmt::format("{} would be served {}: {}.", regret.problem.key(), regret.served->text(), regret.failure));
  }
  if (summary.untimed > 0 && !measured) {
    table.notes.push_back(fmt::format("Not timed with the config that would serve: {}; --measure times them.",
                                      counted(summary.untimed, "shape")));
  }
}

}  // namespace

std::optional<RegretResult> regret(const RegretRequest& request, Listener& listener) {
  const Store store = open_to_read(request.place);
  const std::optional<OpInterface> interface = store.interface_of(request.problems.op);
  if (!interface) {
    throw UsageError(fmt::format("{} has no op '{}'{}", store.title(), request.problems.op,
                                 suggestion(request.problems.op, store.ops())));
  }
  const std::size_t seeded = request.measuring ? request.measuring->seeded : 0;
  // Checked before a device is opened, so that a mistyped word costs no time.
  const bool named = !dims_text(request.problems, *interface).empty() || !request.shapes_file.empty() || seeded > 0;
  std::unique_ptr<RegretMeasure> measure;
  std::vector<DeviceFacts> devices;
  RegretSetting setting = request.setting;
  setting.lessons = lessons_for(request.problems.op, request.place);
  if (request.measuring) {
    measure = RegretMeasure::open(request, listener, store, *interface);
    if (!measure) return std::nullopt;
    setting.truth = &measure->swept();
    devices = {measure->device()};
  } else {
    devices = choose_devices(store, request.device);
  }
  std::vector<std::string> notes;
  const std::vector<JudgedShapes> parts = judged_shapes(store, request.problems, request.shapes_file, *interface,
                                                        devices, request.mode, seeded, measure.get(), notes);
  if (measure) measure->sweep(parts);

  const std::string title = title_of(request.problems.op, setting, named);
  Table table = request.each ? shapes_table(title) : regions_table(title);
  std::vector<Regret> all;
  for (const JudgedShapes& part : parts) {
    setting.judged = part.shapes;
    std::vector<Regret> found = regrets(store, *interface, part.spec, part.device, request.mode, setting);
    if (measure) measure->time(found, request.mode);
    for (const Region& region : by_region(found)) {
      if (request.each) continue;
      table.rows.push_back(region_cells(part.spec, part.device, region.text, summarise_regrets(region.regrets)));
    }
    for (const Regret& regret : found) {
      if (request.each) table.rows.push_back(shape_cells(regret, part.device));
    }
    all.insert(all.end(), found.begin(), found.end());
  }
  const RegretSummary summary = summarise_regrets(all);
  if (all.empty()) {
    const std::string where = measure ? fmt::format(" on {}", measure->device().fingerprint())
                              : named ? " at these shapes, and --measure judges untuned ones"
                                      : "";
    table.notes.push_back(fmt::format("{} has no winner of {}{}; make them with: tilewright sweep {}", store.title(),
                                      request.problems.op, where, request.problems.op));
  } else {
    tell_of(all, summary, measure != nullptr, table);
  }
  if (measure) notes.insert(notes.end(), measure->notes().begin(), measure->notes().end());
  if (listener.cancelled()) notes.emplace_back("Interrupted: the missing times were not measured.");
  table.notes.insert(table.notes.end(), notes.begin(), notes.end());
  note_decisions(store, request.problems.op, table);
  if (const std::vector<Problem> next = shapes_to_tune(all, kTolerated, kMostToTune); !next.empty()) {
    table.advice.push_back({"Shapes to tune next, the greatest loss first:", sweeps_of(next, request.place)});
  }
  return RegretResult{std::move(table), all.size(), summary.failed, listener.cancelled()};
}

}  // namespace tilewright::app
