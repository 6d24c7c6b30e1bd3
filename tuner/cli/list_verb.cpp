// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cache/base/error.hpp"
#include "tuner/app/list.hpp"
#include "tuner/app/misses.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

ExitCode list_ops(const Arguments& arguments, Console& console) {
  const app::ListedOps listed = app::list_ops(place_of(arguments));
  for (const std::string& op : listed.left_out) console.say(op);
  console.print(listed.table, format_of(arguments));
  return listed.left_out.empty() ? ExitCode::done : ExitCode::partly;
}

ExitCode run_list(const Arguments& arguments, Console& console) {
  arguments.require_at_most(1);
  (void)format_of(arguments);
  const std::string what = arguments.words().empty() ? "ops" : arguments.words().front();
  if (what == "ops") return list_ops(arguments, console);
  if (what == "devices") {
    console.print(app::list_devices(place_of(arguments)), format_of(arguments));
    return ExitCode::done;
  }
  if (what == "sweeps") {
    console.print(app::list_sweeps(place_of(arguments)), format_of(arguments));
    return ExitCode::done;
  }
  if (what == "misses") {
    console.print(app::list_misses(), format_of(arguments));
    return ExitCode::done;
  }
  throw UsageError(
      fmt::format("there is no list of '{}'{}", what, suggestion(what, {"ops", "devices", "sweeps", "misses"})));
}

}  // namespace

Verb list_verb() {
  Verb verb;
  verb.name = "list";
  verb.summary = "List the ops that can be tuned, the devices or sweeps of the cache, or missed shapes";
  verb.usage = "[ops|devices|sweeps|misses] [OPTION...]";
  verb.description = {
      "ops (default): each op with its dims, types, attributes, implementations, size of its space and number of "
      "problems with a winner in the cache. devices: the devices of the cache's trials. sweeps: the latest first. "
      "misses: the shapes that applications asked for and that had no exact winner, the most requested first.",
  };
  verb.options = {kOps, kCache, kFormat};
  verb.examples = {{"tilewright list --ops ./my_ops", "Your own ops among the built-in ones."}};
  verb.exit_codes = "0 done, 1 failed, 2 the command line is wrong, 3 a definition has mistakes.";
  verb.run = run_list;
  return verb;
}

}  // namespace tilewright::cli
