// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/base/holds.hpp"
#include "tuner/app/compare.hpp"
#include "tuner/app/table.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

/// Options that ask for particular rows: with them all rows are printed.
constexpr std::array<const char*, 4> kQuestions{"where", "sort", "top", "columns"};
/// The most rows of a table for people without such an option.
constexpr std::size_t kMostRows = 200;

TableQuery query_of(const Arguments& arguments) {
  TableQuery query;
  query.where = arguments.text("where");
  if (arguments.has("sort")) query.sort = app::split_list(arguments.text("sort"));
  if (arguments.has("columns")) query.columns = app::split_list(arguments.text("columns"));
  if (arguments.has("top")) query.top = static_cast<std::size_t>(arguments.integer("top", 1, 1));
  return query;
}

void refuse_contradictions(const Arguments& arguments) {
  std::vector<std::string> given;
  for (const char* view : {"all", "by", "compare", "history"}) {
    if (arguments.has(view)) given.push_back(fmt::format("--{}", view));
  }
  if (given.size() < 2) return;
  throw UsageError(fmt::format("{} are different tables: give one of them", fmt::join(given, " and ")));
}

/// Finds B of `--compare A B` among the words, wherever the option stands.
std::vector<std::string>::iterator other_side(std::vector<std::string>& words,
                                              const std::function<bool(const std::string&)>& is_op) {
  const auto is_plain = [](const std::string& word) { return word.find('=') == std::string::npos; };
  const auto side = std::ranges::find_if(words, app::is_file_or_version);
  if (side != words.end()) return side;
  const auto first = std::find_if(words.begin(), words.end(), is_plain);
  if (first == words.end()) return first;
  const auto second = std::find_if(first + 1, words.end(), is_plain);
  // The op comes first, unless only the second word is one.
  return second != words.end() && !is_op(*first) && is_op(*second) ? first : second;
}

/// Takes the two sides out of the options and, if the option has only one, out of `words`. Throws UsageError if there
/// are not two.
std::pair<std::string, std::string> take_sides(const Arguments& arguments, std::vector<std::string>& words,
                                               const std::function<bool(const std::string&)>& is_op) {
  std::vector<std::string> sides = arguments.texts("compare");
  if (sides.size() == 1) {
    const auto found = other_side(words, is_op);
    if (found != words.end()) {
      sides.push_back(*found);
      words.erase(found);
    }
  }
  if (sides.size() == 2) return {sides[0], sides[1]};
  throw UsageError(
      fmt::format("--compare takes two sides, and was given {}: two caches (FILE), two devices of the cache (NAME), or "
                  "two versions (driver=13.0, compiler='NVRTC 13.0', tilewright=VERSION)",
                  sides.size()));
}

ExitCode run_table(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  refuse_contradictions(arguments);
  app::TableRequest request;
  request.place = place_of(arguments);
  request.query = query_of(arguments);
  std::vector<std::string> typed = arguments.words();
  if (arguments.has("compare")) {
    request.view = app::View::comparison;
    const std::vector<std::string> ops = app::open_catalogue(request.place).names();
    std::tie(request.a, request.b) = take_sides(arguments, typed, [&](const std::string& word) {
      return word.find_first_of("[{") != std::string::npos || holds(ops, word);
    });
  } else if (arguments.has("all")) {
    request.view = app::View::configs;
  } else if (arguments.has("by")) {
    request.view = app::View::effects;
    request.parameter = arguments.text("by");
  } else if (arguments.has("history")) {
    request.view = app::View::history;
  }
  if (typed.empty()) {
    throw UsageError(fmt::format("table needs the name of an op\nUsage: tilewright table {}", arguments.verb().usage));
  }
  request.problems = app::read_problem_words(typed);
  if (arguments.has("dtype")) request.problems.named.emplace_back("dtype", arguments.text("dtype"));
  request.mode = mode_of(arguments).value_or(MeasureMode::cold);
  request.device = arguments.text("device");
  const auto asks = [&](const char* option) { return arguments.has(option); };
  if (format == Format::text && !std::ranges::any_of(kQuestions, asks)) request.most_rows = kMostRows;
  const Table table = app::table(request);
  console.print(table, format);
  return table.rows.empty() ? ExitCode::failed : ExitCode::done;
}

}  // namespace

Verb table_verb() {
  Verb verb;
  verb.name = "table";
  verb.summary = "Print winners, their history, all configs of a problem, the effect of a parameter, or a comparison";
  verb.usage = "OP [NAME=VALUES...] [OPTION...]";
  verb.description = {
      "Prints the winners of an op for all problems of the cache, or for those that match NAME=VALUES (dtype=bf16 "
      "cols=4096,8192). Columns: time with its 95 % interval, GB/s or TFLOP/s, share of the measured ceiling, bound "
      "(memory, compute or launch), speed-up over the op's base, match and device. Times "
      "of device cpu are the emulator's.",
      "--all prints every tried config, fastest first and the winner with a star, with registers, shared memory, "
      "spills, occupancy and status. --by prints the best and the median cost of each value of a parameter, for each "
      "implementation. --compare prints two caches, devices or versions side by side. --history prints the winners of "
      "each problem over versions, drivers and time: faster, slower or not told apart. "
      "docs/tables.md explains the columns.",
      "As text, more than 200 winners become one line for each dtype and attributes, unless --where, "
      "--sort, --top or --columns is given.",
      "--where, --sort and --columns take the column names of CSV and JSON, including columns that text "
      "omits and parameters of configs.",
  };
  verb.options = {
      {.name = "all", .value = "", .help = "Every tried config, not only winners."},
      {.name = "by",
       .value = "PARAM",
       .help = "The effect of one parameter of the configs, or of implementation.",
       .takes = Takes::parameter},
      {.name = "compare",
       .value = "SIDE",
       .help = "Compare two sides, --compare A B. A side is a cache file, a device of the cache, or a version of its "
               "trials, such as driver=13.0, compiler='NVRTC 13.0' or tilewright=VERSION.",
       .repeated = true},
      {.name = "history",
       .value = "",
       .help = "The winners of each problem over time, each compared with the one before."},
      {.name = "where",
       .value = "QUESTION",
       .help = "Only rows for which this formula over columns is true: 'cols>=4096 and dtype=bf16'."},
      {.name = "sort",
       .value = "LIST",
       .help = "Columns to sort by; a leading - puts the greatest first: -gb_per_s,cols.",
       .list = true,
       .takes = Takes::columns},
      {.name = "top", .value = "N", .help = "At most N rows, after sorting."},
      {.name = "columns",
       .value = "LIST",
       .help = "Print these columns in this order.",
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
       "Long rows that leave the most bandwidth unused."},
      {"tilewright table softmax rows=4096 cols=1024 dtype=bf16 --all --top 10", "The ten best configs of a problem."},
      {"tilewright table gemm --by stages", "The effect of the number of stages."},
      {"tilewright table softmax --history --where 'verdict=slower'",
       "Problems that became slower, with the versions."},
      {"tilewright table softmax --compare old.db new.db", "The differences between two caches."},
  };
  verb.exit_codes = "0 done, 1 there is no row to print or the cache cannot be read, 2 the command line is wrong.";
  verb.run = run_table;
  return verb;
}

}  // namespace tilewright::cli
