// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/cache.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "cache/base/error.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

constexpr std::int64_t kMostPastWinners = 1'000'000;

ExitCode collect(const Arguments& arguments, Console& console) {
  const app::CollectRequest request{place_of(arguments), arguments.has("dry-run"), arguments.has("damaged"),
                                    static_cast<int>(arguments.integer("past-winners", 8, 0, kMostPastWinners))};
  const app::CollectResult result = app::collect(request);
  console.print(app::table_of(result), format_of(arguments));
  return result.not_smaller.empty() ? ExitCode::done : ExitCode::partly;
}

ExitCode run_cache(const Arguments& arguments, Console& console) {
  arguments.require_at_most(1);
  (void)format_of(arguments);
  const std::string& what = arguments.word(0, "what to do with it: info or gc");
  if (what == "gc") return collect(arguments, console);
  if (what != "info") {
    throw UsageError(fmt::format("there is no `tilewright cache {}`{}", what, suggestion(what, {"info", "gc"})));
  }
  for (const char* const of_gc : {"dry-run", "damaged", "past-winners"}) {
    if (arguments.has(of_gc)) throw UsageError(fmt::format("--{} belongs to `tilewright cache gc`", of_gc));
  }
  const app::Place place = place_of(arguments);
  console.print(app::tables_of(app::cache_info(place), place), format_of(arguments));
  return ExitCode::done;
}

}  // namespace

Verb cache_verb() {
  Verb verb;
  verb.name = "cache";
  verb.summary = "Show the disk use of the cache, or remove unneeded data";
  verb.usage = "info|gc [OPTION...]";
  verb.description = {
      "info prints rows, damaged rows and bytes of each table, and binaries by op.",
      "gc removes binaries that serve no winner, base, spare or pin, trials of since-edited implementations that serve "
      "nothing, and past winners beyond --past-winners. Served configs and the trials that justify them stay. A "
      "removed binary is compiled again when it is needed. While a sweep runs, nothing is removed. If a tenth of the "
      "file is then free, the file is rewritten smaller, which needs free disk space of its size."};
  verb.options = {
      {"dry-run", "", "gc: remove nothing, and print the removable rows and bytes."},
      {"damaged", "",
       "gc: also remove damaged rows, and rows that depend on them. Sweeps fill them again, except pins, misses, "
       "past winners, and campaigns with their jobs."},
      {"past-winners", "N", "gc: keep the newest N past winners of each problem and role. Default: 8."},
      kOps,
      kCache,
      kFormat};
  verb.examples = {{"tilewright cache info", "The space by table and by op."},
                   {"tilewright cache gc --dry-run", "The data that gc would remove."}};
  verb.exit_codes =
      "0 done, 1 the cache cannot be used or a sweep is running, 2 the command line is wrong, 3 rows were removed but "
      "the file did not become smaller.";
  verb.run = run_cache;
  return verb;
}

}  // namespace tilewright::cli
