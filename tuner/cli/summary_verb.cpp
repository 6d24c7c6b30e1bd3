// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/summary.hpp"

#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

ExitCode run_summary(const Arguments& arguments, Console& console) {
  arguments.require_at_most(0);
  const Format format = format_of(arguments);
  const Table table = app::summary({place_of(arguments), arguments.text("device"), mode_of(arguments)});
  console.print(table, format);
  return table.rows.empty() ? ExitCode::failed : ExitCode::done;
}

}  // namespace

Verb summary_verb() {
  Verb verb;
  verb.name = "summary";
  verb.summary = "Print the tuned problems of each op, their share of the ceiling and speed-up over the base";
  verb.usage = "[OPTION...]";
  verb.description = {
      "One line per op, dtype and device: the number of tuned problems, the median share of the ceiling, the geometric "
      "mean of the speed-up over the base, and the day of the newest winner. `tilewright "
      "table OP` has the details of one op.",
  };
  verb.options = {kDevice, kMode, kOps, kCache, kFormat};
  verb.examples = {{"tilewright summary --device H200", "The tuned problems of one GPU."}};
  verb.exit_codes = "0 done, 1 there is no winner or the cache cannot be read, 2 the command line is wrong.";
  verb.run = run_summary;
  return verb;
}

}  // namespace tilewright::cli
