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

ExitCode run_import(const Arguments& arguments, Console& console) {
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
  verb.summary = "Merge the winners of other caches, such as exports and packs, into the cache";
  verb.usage = "FILE... [OPTION...]";
  verb.description = {
      "Checks all caches before anything is written. Packs are checked and folded one by one: after a damaged pack, "
      "those before it stay. Each file is imported whole or not at all. Winners of different devices never mix. If "
      "both caches have a winner of a problem on a device, the better evidence stays: first the greater speed-up over "
      "the base, in steps of 3 %, then a sweep of more configs that did not fail, then 8 rounds or more, then the "
      "narrower interval, then the later measurement. No trial is removed or changed, and importing the same file "
      "again changes nothing. Of each problem with winners the times and failures of all other configs come along, "
      "for tilewright prepare to learn from. A failure and a time of one config: the later counts.",
      "If the caches serve different configs for a problem, the conflict is reported with the evidence of both.",
      "A pack (tilewright export --pack) brings all of its trials, failed ones included. The result of several packs "
      "does not depend on their order: of winners with the same evidence, those chosen here stay, else those of the "
      "pack with the lower hash. A folder stands for its packs.",
      "Binaries are code: import only files that you trust.",
  };
  verb.options = {{"conflicts", "", "Print the conflicts instead of the imported winners."}, kCache, kFormat};
  verb.examples = {
      {"tilewright import winners.db", "Then `tilewright table softmax` shows them."},
      {"tilewright import winners.db.zst", "The same, compressed by `zstd -19 winners.db`."},
      {"tilewright import packs", "All packs of a folder, in any order."},
      {"tilewright import node1.db node2.db node3.db --conflicts", "The conflicts between several machines."}};
  verb.exit_codes =
      "0 done, 1 no file has winners, or a file or the cache cannot be used, 2 the command line is wrong.";
  verb.run = run_import;
  return verb;
}

}  // namespace tilewright::cli
