// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/base/holds.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/problem_words.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/stored_devices.hpp"
#include "tuner/cli/stored_winners.hpp"
#include "tuner/cli/table_compare.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/report/configs_table.hpp"
#include "tuner/report/effect_table.hpp"
#include "tuner/report/table_query.hpp"
#include "tuner/search/recording_file.hpp"

namespace tilewright::cli {
namespace {

TableQuery query_of(const Arguments& arguments) {
  TableQuery query;
  query.where = arguments.text("where");
  if (arguments.has("sort")) query.sort = split_list(arguments.text("sort"));
  if (arguments.has("columns")) query.columns = split_list(arguments.text("columns"));
  if (arguments.has("top")) query.top = static_cast<std::size_t>(arguments.integer("top", 1, 1));
  return query;
}

/// What the command line asks for.
struct Asked {
  const Arguments& arguments;
  ProblemWords words;
  MeasureMode mode = MeasureMode::cold;
  /// Null where it is elsewhere.
  const OpDefinition* definition = nullptr;
  OpInterface interface {};
  std::vector<std::string> devices{};
  WantedProblems wanted{};
};

Table winners(const Asked& asked, const Store& store) {
  const std::string& op = asked.words.op;
  StoredWinners winners = stored_winners(store, asked.interface, asked.definition, asked.devices, asked.mode);
  std::erase_if(winners.lines, [&](const WinnerLine& line) { return !asked.wanted(line.row.problem); });
  Table table = winners_table(fmt::format("Winners of {}", op), winners.lines, true);
  if (winners.retired > 0) {
    table.notes.push_back(fmt::format("{} winners of an older interface of {} are left out.", winners.retired, op));
  }
  if (winners.lines.empty()) {
    table.notes.push_back(fmt::format("No winner fits; make some: tilewright sweep {}", op));
  }
  return table;
}

std::vector<TriedProblem> tried(const Asked& asked, const Store& store) {
  return tried_problems(store, {asked.words.op, asked.interface.hash(), asked.devices, asked.mode, asked.wanted});
}

std::string nothing_tried(const Asked& asked) {
  const std::string& op = asked.words.op;
  return fmt::format(
      "Nothing was tried that fits; `tilewright table {}` lists what is tuned, and `tilewright sweep {}` tunes more.",
      op, op);
}

/// Of the problems' spaces, what is no row: stored with the winners. Empty where nothing is.
std::string forbidden_note(const Store& store, const std::vector<TriedProblem>& problems) {
  std::int64_t sum = 0;
  for (const TriedProblem& each : problems) {
    const auto row = store.winner_of(each.key, each.mode, WinnerRole::best);
    if (!row) continue;
    for (const auto& [rule, count] : row->winner.choice.forbidden) sum += count;
  }
  if (sum == 0) return "";
  return fmt::format(
      "{} more of the {} no configs there, by constraints of the definition and limits of the device; `tilewright show "
      "OP NAME=VALUE...` tells by which.",
      sum, problems.size() == 1 ? "space are" : "spaces are");
}

Table all_configs(const Asked& asked, const Store& store) {
  std::vector<TriedProblem> problems = tried(asked, store);
  const std::string forbidden = forbidden_note(store, problems);
  std::string of = asked.words.op;
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

Table effects(const Asked& asked, const Store& store, const std::string& parameter) {
  const std::vector<TriedProblem> problems = tried(asked, store);
  const std::vector<std::string> known = parameters_of(problems);
  if (!problems.empty() && !holds(known, parameter)) {
    throw UsageError(fmt::format("--by {}: no config of {} has such a parameter{}", parameter, asked.words.op,
                                 suggestion(parameter, known)));
  }
  Table table = effect_table(fmt::format("Effect of {} on {}", parameter, asked.words.op), problems, parameter);
  if (table.rows.empty()) table.notes = {nothing_tried(asked)};
  return table;
}

Table comparison(const Asked& asked, const std::pair<std::string, std::string>& sides) {
  const auto& [a, b] = sides;
  const std::vector<CompareLine> lines =
      compared_lines(asked.arguments, {asked.words.op, a, b, asked.mode, asked.wanted, asked.definition});
  Table table = compare_table(fmt::format("{}: A is {}, B is {}", asked.words.op, a, b), a, b, lines);
  if (table.rows.empty()) table.notes.push_back("No problem has a time on both sides.");
  return table;
}

void refuse_contradictions(const Arguments& arguments) {
  std::vector<std::string> given;
  for (const char* view : {"all", "by", "compare"}) {
    if (arguments.has(view)) given.push_back(fmt::format("--{}", view));
  }
  if (given.size() < 2) return;
  throw UsageError(fmt::format("{} are different tables: give one of them", fmt::join(given, " and ")));
}

/// The cache of --cache; for a comparison of two files there need not be one.
Store store_for(const Arguments& arguments, const std::optional<std::pair<std::string, std::string>>& sides) {
  // That a cache knows the op, and its interface, is as good of one side as of the other.
  if (sides && std::filesystem::is_regular_file(sides->first)) {
    return open_recording(sides->first);
  }
  return open_to_read(arguments);
}

ExitCode run(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  refuse_contradictions(arguments);
  const TableQuery query = query_of(arguments);
  Catalogue catalogue = open_catalogue(arguments);
  std::vector<std::string> typed = arguments.words();
  std::optional<std::pair<std::string, std::string>> sides;
  if (arguments.has("compare")) {
    const std::vector<std::string> ops = catalogue.names();
    sides = take_sides(arguments, typed, [&](const std::string& word) {
      return word.find_first_of("[{") != std::string::npos || holds(ops, word);
    });
  }
  if (typed.empty()) {
    throw UsageError(fmt::format("table needs the name of an op\nUsage: tilewright table {}", arguments.verb().usage));
  }

  Asked asked{arguments, read_problem_words(typed)};
  asked.mode = mode_of(arguments).value_or(MeasureMode::cold);
  const Store store = store_for(arguments, sides);
  asked.definition = definition_of(asked.words.op, catalogue, store);
  const auto stored = store.interface_of(asked.words.op);
  asked.interface = stored ? *stored : asked.definition->interface;
  if (arguments.has("dtype")) asked.words.named.emplace_back("dtype", arguments.text("dtype"));
  asked.wanted = wanted_problems(asked.words, asked.interface);
  if (!sides) {
    for (const DeviceFacts& device : choose_devices(store, arguments.text("device"))) {
      asked.devices.push_back(device.fingerprint());
    }
  }

  Table table = sides                  ? comparison(asked, *sides)
                : arguments.has("all") ? all_configs(asked, store)
                : arguments.has("by")  ? effects(asked, store, arguments.text("by"))
                                       : winners(asked, store);
  if (asked.definition == nullptr) table.notes.push_back(no_definition_note(asked.words.op));
  const std::size_t rows = table.rows.size();
  apply(query, table);
  if (table.rows.empty() && rows > 0) {
    table.notes = {fmt::format("None of {} rows fits --where '{}'.", rows, query.where)};
  }
  console.print(table, format);
  return table.rows.empty() ? ExitCode::failed : ExitCode::done;
}

}  // namespace

Verb table_verb() {
  Verb verb;
  verb.name = "table";
  verb.summary = "Print winners over shapes, all configs of a problem, effects of a parameter, or two sides compared";
  verb.usage = "OP [NAME=VALUES...] [OPTION...]";
  verb.description = {
      "The winners of an op, for all problems of the cache or for those that agree with the names given (dtype=bf16 "
      "cols=4096,8192): time with its "
      "95 % interval, GB/s or TFLOP/s, share of the measured ceiling, what the time is bound by, speed-up over the "
      "op's "
      "base, match and device. A time of device cpu is the emulator's.",
      "With --all every config that was tried, fastest first, the winner with a star: also registers, shared memory, "
      "spills, occupancy and what became of it. With --by what each value of a parameter costs at best and at the "
      "median, in each implementation. With --compare two caches, devices or versions side by side. docs/tables.md "
      "explains every column.",
      "--where, --sort and --columns name columns as CSV and JSON do, those included that text has no room for; "
      "parameters of configs are columns, too.",
  };
  verb.options = {
      {.name = "all", .value = "", .help = "Every config that was tried, not winners alone."},
      {.name = "by",
       .value = "PARAM",
       .help = "The effect of one parameter of the configs, or of implementation.",
       .takes = Takes::parameter},
      {.name = "compare",
       .value = "SIDE",
       .help = "Two sides, --compare A B: files of caches, devices of the cache, or versions of its trials such as "
               "driver=13.0, compiler='NVRTC 13.0' or tilewright=VERSION.",
       .repeated = true},
      {.name = "where",
       .value = "QUESTION",
       .help = "Only rows of which this is true: 'cols>=4096 and dtype=bf16'. The language of formulas, over columns."},
      {.name = "sort",
       .value = "LIST",
       .help = "Columns to sort by; with - in front the greatest first: -gb_per_s,cols.",
       .list = true,
       .takes = Takes::columns},
      {.name = "top", .value = "N", .help = "At most N rows, after sorting."},
      {.name = "columns",
       .value = "LIST",
       .help = "These columns in this order.",
       .list = true,
       .takes = Takes::columns},
      {.name = "dtype", .value = "LIST", .help = "Only these types.", .list = true, .takes = Takes::dtypes},
      kDevice,
      kMode,
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {
      {"tilewright table softmax --dtype bf16 --format csv", "For a spreadsheet."},
      {"tilewright table softmax --where 'cols>=4096 and share_of_ceiling<0.8' --sort share_of_ceiling",
       "Large rows that leave the most bandwidth unused."},
      {"tilewright table softmax rows=4096 cols=1024 dtype=bf16 --all --top 10", "The ten best configs of a problem."},
      {"tilewright table gemm --by stages", "What the number of stages does."},
      {"tilewright table softmax --compare old.db new.db", "What changed between two caches."},
  };
  verb.exit_codes = "0 done, 1 there is no row to print or the cache cannot be read, 2 the command line is wrong.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
