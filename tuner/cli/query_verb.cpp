// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cache/serve/match.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/lookup.hpp"
#include "tuner/cli/problem_words.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/shell.hpp"
#include "tuner/cli/stored_devices.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/report/served_table.hpp"

namespace tilewright::cli {
namespace {

/// The interface from the cache, which costs no definition file; else from the definition, so that a wrong name is told
/// from an op that was never tuned.
OpInterface interface_for(const std::string& op, const Store& store, const Arguments& arguments) {
  if (auto stored = store.interface_of(op)) return std::move(*stored);
  return open_catalogue(arguments).find(op).interface;
}

ExitCode run(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  const ProblemWords words = read_problem_words(arguments);
  const Store store = open_to_read(arguments);
  const OpInterface interface = interface_for(words.op, store, arguments);
  const Problem problem = to_problem(words, interface);
  const std::vector<std::string> current = current_implementations(words.op, arguments);
  std::vector<ServedLine> lines;
  std::vector<std::string> obstacles;
  std::vector<std::string> unread;
  for (const DeviceFacts& device : choose_devices(store, arguments.text("device"))) {
    const std::string asked = device.name.rfind("sm_", 0) == 0 ? device.name : device.fingerprint();
    Lookup found = look_up(store, interface, problem, device, current);
    ServedLine& line = lines.emplace_back(ServedLine{asked, std::move(found.served)});
    if (line.served.row) line.roofline = roofline_of(store, *line.served.row, arguments);
    if (!found.obstacle.empty()) obstacles.push_back(fmt::format("{}: {}", asked, found.obstacle));
    if (!found.unread.empty()) unread.push_back(fmt::format("{}: passed over: {}", asked, found.unread));
  }
  Table table = served_table(problem, lines);
  table.notes.insert(table.notes.end(), unread.begin(), unread.end());
  const bool served = std::any_of(lines.begin(), lines.end(),
                                  [](const ServedLine& line) { return line.served.match.fit != Fit::none; });
  if (!obstacles.empty()) {
    table.notes.insert(table.notes.end(), obstacles.begin(), obstacles.end());
  } else if (!served) {
    table.advice.push_back({"Nothing is known for this problem; tune it:",
                            {fmt::format("tilewright sweep \"{}\"{}", problem.key(), cache_option(arguments))}});
  }
  console.print(table, format);
  return served ? ExitCode::done : ExitCode::failed;
}

}  // namespace

Verb query_verb() {
  Verb verb;
  verb.name = "query";
  verb.summary = "Ask the cache which config serves a problem, and how well it fits";
  verb.usage = "OP [NAME=VALUE...] [OPTION...]";
  verb.description = {
      "Answers from the cache alone, in milliseconds: no GPU is opened and nothing is compiled. What dtype or "
      "attribute "
      "is not given takes its first value. Without --device there is an answer for each device of the cache.",
      "The match says how what is served fits: exact (tuned for this problem), nearest (tuned for another shape), "
      "default "
      "(the op's base), none; fresh, or stale where Tilewright's version or the op's sources have changed since; same "
      "device "
      "or same architecture. Beside its time stand the bytes and operations of the problem it was measured on, what "
      "bounds "
      "it, and its share of the measured ceiling.",
  };
  verb.options = {
      {.name = "device",
       .value = "NAME",
       .help = "A device of the cache by its name or a part of it, cpu, or an architecture such as sm_90.",
       .takes = Takes::stored_device},
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {
      {"tilewright query softmax rows=8 cols=100 dtype=f32", "The winner for one shape."},
      {"tilewright query \"softmax[dtype=bf16]{rows=4096,cols=1024}\" --device H200 --format json",
       "The same by shape key, for a program."},
  };
  verb.exit_codes =
      "0 something can be served, 1 nothing can (match none) or the cache cannot be read, 2 the command "
      "line is wrong.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
