// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/base/holds.hpp"
#include "cache/base/units.hpp"
#include "tuner/app/compare.hpp"
#include "tuner/app/stored_devices.hpp"
#include "tuner/app/stored_winners.hpp"
#include "tuner/app/table_columns.hpp"
#include "tuner/report/configs_table.hpp"
#include "tuner/report/effect_table.hpp"
#include "tuner/report/history_table.hpp"
#include "tuner/report/summary_table.hpp"
#include "tuner/search/recording_file.hpp"

namespace tilewright::app {
namespace {

/// The request, resolved by the cache and the ops.
struct Asked {
  const TableRequest& request;
  const std::string& op;
  /// Null if the definition is not on this machine.
  const OpDefinition* definition = nullptr;
  OpInterface interface {};
  WantedProblems wanted{};
  /// Fingerprints; empty for a comparison, whose sides have their own.
  std::vector<std::string> devices{};
};

Table winners(const Asked& asked, const Store& store) {
  const std::string& op = asked.op;
  StoredWinners winners = stored_winners(store, asked.interface, asked.definition, asked.devices, asked.request.mode);
  std::erase_if(winners.lines, [&](const WinnerLine& line) { return !asked.wanted(line.row.problem); });
  const std::size_t most = asked.request.most_rows;
  const bool summarised = most > 0 && winners.lines.size() > most;
  Table table = summarised ? summary_table(fmt::format("Winners of {}, summarised", op), winners.lines, true)
                           : winners_table(fmt::format("Winners of {}", op), winners.lines, true);
  if (summarised) {
    table.advice.push_back({fmt::format("These are {} winners; to list them, name some or all:", winners.lines.size()),
                            {fmt::format("tilewright table {} dtype=NAME DIM=VALUES", op),
                             fmt::format("tilewright table {} --top {}", op, winners.lines.size())}});
  }
  if (winners.retired > 0) {
    table.notes.push_back(
        fmt::format("Left out: {} of an older interface of {}.", counted(winners.retired, "winner"), op));
  }
  if (winners.lines.empty()) {
    table.notes.push_back(fmt::format("No winner matches; make some: tilewright sweep {}", op));
  }
  return table;
}

std::vector<TriedProblem> tried(const Asked& asked, const Store& store) {
  return tried_problems(store, {asked.op, asked.interface.hash(), asked.devices, asked.request.mode, asked.wanted});
}

std::string nothing_tried(const Asked& asked) {
  const std::string& op = asked.op;
  return fmt::format(
      "No tried config matches; `tilewright table {}` lists the tuned problems, and `tilewright sweep {}` tunes more.",
      op, op);
}

/// Counts the points of the problems' spaces that are no configs, as stored with the winners. Empty if there are none.
std::string forbidden_note(const Store& store, const std::vector<TriedProblem>& problems) {
  std::int64_t sum = 0;
  for (const TriedProblem& each : problems) {
    const auto row = store.winner_of(each.key, each.mode, WinnerRole::best);
    if (!row) continue;
    for (const auto& [rule, count] : row->winner.choice.forbidden) sum += count;
  }
  if (sum == 0) return "";
  return fmt::format(
      "{} more points of the {} no configs there, by constraints of the definition and limits of the device; "
      "`tilewright show OP NAME=VALUE...` names the rules.",
      sum, problems.size() == 1 ? "space are" : "spaces are");
}

Table all_configs(const Asked& asked, const Store& store) {
  std::vector<TriedProblem> problems = tried(asked, store);
  const std::string forbidden = forbidden_note(store, problems);
  std::string of = asked.op;
  const bool one = std::all_of(problems.begin(), problems.end(), [&](const TriedProblem& each) {
    return each.key.problem == problems.front().key.problem;
  });
  if (!problems.empty() && one) of = problems.front().key.problem.key();
  Table table =
      configs_table(fmt::format("Configs of {}", of), config_lines(store, asked.definition, std::move(problems)));
  if (table.rows.empty()) table.notes.push_back(nothing_tried(asked));
  if (!forbidden.empty()) table.notes.push_back(forbidden);
  return table;
}

Table effects(const Asked& asked, const Store& store) {
  const std::string& parameter = asked.request.parameter;
  const std::vector<TriedProblem> problems = tried(asked, store);
  const std::vector<std::string> known = parameters_of(problems);
  if (!problems.empty() && !holds(known, parameter)) {
    throw UsageError(fmt::format("--by {}: no config of {} has such a parameter{}", parameter, asked.op,
                                 suggestion(parameter, known)));
  }
  Table table = effect_table(fmt::format("Effect of {} on {}", parameter, asked.op), problems, parameter);
  if (table.rows.empty()) table.notes = {nothing_tried(asked)};
  return table;
}

Table comparison(const Asked& asked) {
  const TableRequest& of = asked.request;
  Table table = compare_table(
      fmt::format("{}: A is {}, B is {}", asked.op, of.a, of.b), of.a, of.b,
      compared_lines({of.place, asked.op, of.a, of.b, of.device, of.mode, asked.wanted, asked.definition}));
  if (table.rows.empty()) table.notes.push_back("No problem has a time on both sides.");
  return table;
}

/// For each problem and device, the latest first.
Table history(const Asked& asked, const Store& store) {
  std::vector<HistoryLine> lines;
  for (const WinnerRow& row :
       store.list_winners({.op = asked.op, .mode = asked.request.mode, .role = WinnerRole::best})) {
    const ProblemKey key{row.problem, row.interface_hash, row.device.fingerprint()};
    if (row.interface_hash != asked.interface.hash() || !asked.wanted(row.problem) ||
        !holds(asked.devices, key.device_fingerprint)) {
      continue;
    }
    std::vector<Store::FirstServed> served = store.served_first(key);
    std::erase_if(served, [&](const Store::FirstServed& one) {
      return one.role != WinnerRole::best || one.trial.mode != asked.request.mode;
    });
    for (std::size_t i = 0; i < served.size(); ++i) {
      HistoryLine line{row.problem, key.device_fingerprint, served[i].now, std::move(served[i].trial)};
      if (i + 1 < served.size()) line.before = served[i + 1].trial;
      lines.push_back(std::move(line));
    }
  }
  Table table = history_table(fmt::format("Winners of {} over time, the latest first", asked.op), lines);
  if (lines.empty()) table.notes.push_back(fmt::format("No winner matches; make some: tilewright sweep {}", asked.op));
  return table;
}

/// The cache; for a comparison whose side A is a file, that file, which has the op's interface, too.
Store store_for(const TableRequest& request) {
  if (request.view == View::comparison && std::filesystem::is_regular_file(request.a)) return open_recording(request.a);
  return open_to_read(request.place);
}

Table view_of(const Asked& asked, const Store& store) {
  switch (asked.request.view) {
    case View::configs:
      return all_configs(asked, store);
    case View::effects:
      return effects(asked, store);
    case View::comparison:
      return comparison(asked);
    case View::history:
      return history(asked, store);
    case View::winners:
      break;
  }
  return winners(asked, store);
}

}  // namespace

Table table(const TableRequest& request) {
  Catalogue catalogue = open_catalogue(request.place);
  const Store store = store_for(request);
  Asked asked{request, request.problems.op};
  asked.definition = definition_of(asked.op, catalogue, store);
  const auto stored = store.interface_of(asked.op);
  asked.interface = stored ? *stored : asked.definition->interface;
  asked.wanted = wanted_problems(request.problems, asked.interface);
  if (request.view != View::comparison) {
    for (const DeviceFacts& device : choose_devices(store, request.device)) {
      asked.devices.push_back(device.fingerprint());
    }
  }
  Table table = view_of(asked, store);
  if (asked.definition == nullptr) table.notes.push_back(no_definition_note(asked.op));
  const std::size_t rows = table.rows.size();
  if (rows == 0) {
    // A question about no rows is answered, too.
    const std::vector<Implementation> none;
    table.columns = columns_of(request.view, asked.interface,
                               asked.definition == nullptr ? none : asked.definition->implementations);
  }
  apply(request.query, table);
  if (table.rows.empty() && rows > 0) {
    table.notes = {fmt::format("None of {} rows matches --where '{}'.", rows, request.query.where)};
  }
  return table;
}

}  // namespace tilewright::app
