// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/import.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

constexpr std::size_t kToldConflicts = 10;

ExitCode run(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  (void)arguments.word(0, "the file to import");
  const app::ImportResult result =
      app::import_files({place_of(arguments), {arguments.words().begin(), arguments.words().end()}},
                        [&](const std::string& line) { console.say(line); });
  for (const std::string& warning : result.warnings) console.say(warning);
  const std::vector<Conflict>& conflicts = result.conflicts;
  if (arguments.has("conflicts")) {
    console.print(app::table_of(conflicts), format);
  } else {
    console.print(result.table, format);
    // On stderr, so that a program reads one table.
    for (std::size_t i = 0; i < std::min(conflicts.size(), kToldConflicts); ++i)
      console.say(app::text_of(conflicts[i]));
    if (conflicts.size() > kToldConflicts) {
      console.say(fmt::format("{} conflicts in all; --conflicts lists them", conflicts.size()));
    }
  }
  return result.table.rows.empty() ? ExitCode::failed : ExitCode::done;
}

}  // namespace

Verb import_verb() {
  Verb verb;
  verb.name = "import";
  verb.summary = "Bring the winners of other caches, such as exports and packs, into the cache";
  verb.usage = "FILE... [OPTION...]";
  verb.description = {
      "All of a file or nothing: all files are read and checked whole first. Winners of different devices never mix. "
      "Where both have winners of a problem on a device, those with the better evidence stay: measured in 8 rounds or "
      "more, then with the narrower interval, then later. No trial is removed or changed, and the same file imported "
      "again changes nothing. Of configs that did not win, times are brought in where there are spares (tilewright "
      "prepare), and nothing elsewhere.",
      "Where the caches serve different configs for a problem, that is told, with the evidence of both.",
      "A pack (tilewright export --pack) comes with all of its trials, failed ones included, and what comes of several "
      "does not depend on their order: of winners with the same evidence those of the pack with the lower hash stay, "
      "and those that were chosen here before all. A folder stands for its packs.",
      "Binaries are code: import what you trust.",
  };
  verb.options = {{"conflicts", "", "Print the conflicts instead of what came in."}, kCache, kFormat};
  verb.examples = {{"tilewright import winners.db", "Then `tilewright table softmax` shows them."},
                   {"tilewright import winners.db.zst", "The same, packed: `zstd -19 winners.db` made it."},
                   {"tilewright import packs", "All packs of a folder, in whatever order."},
                   {"tilewright import node1.db node2.db node3.db --conflicts", "What several machines found."}};
  verb.exit_codes =
      "0 done, 1 the file has no winners, or it or the cache cannot be used, 2 the command line is wrong.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
