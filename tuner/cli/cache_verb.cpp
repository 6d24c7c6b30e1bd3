// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/cache.hpp"

#include <fmt/format.h>

#include "cache/base/error.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

ExitCode collect(const Arguments& arguments, Console& console) {
  const app::CollectRequest request{place_of(arguments), arguments.has("dry-run"), arguments.has("damaged"),
                                    static_cast<int>(arguments.integer("past-winners", 8, 0))};
  const app::CollectResult result = app::collect(request);
  console.print(app::table_of(result), format_of(arguments));
  return result.not_smaller.empty() ? ExitCode::done : ExitCode::partly;
}

ExitCode run(const Arguments& arguments, Console& console) {
  arguments.require_at_most(1);
  (void)format_of(arguments);
  const std::string& what = arguments.word(0, "what to do with it: info or gc");
  if (what == "gc") return collect(arguments, console);
  if (what != "info") {
    throw UsageError(fmt::format("there is no `tilewright cache {}`{}", what, suggestion(what, {"info", "gc"})));
  }
  for (const char* const of_gc : {"dry-run", "damaged", "past-winners"}) {
    if (arguments.has(of_gc)) throw UsageError(fmt::format("--{} is of `tilewright cache gc`", of_gc));
  }
  const app::Place place = place_of(arguments);
  console.print(app::tables_of(app::cache_info(place), place), format_of(arguments));
  return ExitCode::done;
}

}  // namespace

Verb cache_verb() {
  Verb verb;
  verb.name = "cache";
  verb.summary = "Tell what takes the space of the cache, or take out what nothing needs";
  verb.usage = "info|gc [OPTION...]";
  verb.description = {
      "info: rows, damaged rows and bytes of each table, and binaries by op.",
      "gc takes out binaries that no winner, base, spare or pin is served by, trials of implementations that were "
      "edited since and serve nothing, and past winners of long ago. What serves, and the trials that tell why, stay. "
      "A binary that is wanted again is compiled again. While a sweep is running nothing is taken out. Where a tenth "
      "of the file is free then, it is written anew and becomes smaller, which needs its size of room on the disk."};
  verb.options = {{"dry-run", "", "gc: take nothing out, tell what would be and how much."},
                  {"damaged", "", "gc: also damaged rows, and what rests on them, of tables that sweeps fill again."},
                  {"past-winners", "N", "gc: keep the newest N past winners of each problem and role. Default: 8."},
                  kOps,
                  kCache,
                  kFormat};
  verb.examples = {{"tilewright cache info", "What takes the space."},
                   {"tilewright cache gc --dry-run", "What nothing needs."}};
  verb.exit_codes =
      "0 done, 1 the cache cannot be used or a sweep is running, 2 the command line is wrong, 3 rows were taken out "
      "and the file did not become smaller.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
