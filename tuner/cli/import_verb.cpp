// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "cache/error.hpp"
#include "cache/store/file_facts.hpp"
#include "cache/store/transfer.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/transfer_table.hpp"

namespace tilewright::cli {

ExitCode run_import_verb(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  const std::filesystem::path file = arguments.word(0, "the file to import");
  arguments.require_at_most(1);
  if (!std::filesystem::exists(file)) {
    throw UsageError(fmt::format("there is no file {}; `tilewright export -o FILE` makes one", file.string()));
  }
  // A copy of one moment, which may be of an older schema; judged whole before anything is written.
  const Store from(file, {.access = StoreAccess::copy});
  from.check();
  if (writable_by_others(file)) {
    console.say(fmt::format("tilewright: note that others can write {}: its binaries are code that will run here",
                            file.string()));
  }
  Store to(cache_path(arguments));
  const Store::Counts before = to.counts();
  const std::vector<Transferred> done = transfer_winners(from, to);
  const Store::Counts after = to.counts();
  Table table = transfer_table(fmt::format("Imported from {}", file.string()), done, TransferColumns::imported);
  if (done.empty()) table.notes.push_back(fmt::format("{} has no winners: nothing was imported.", file.string()));
  table.notes.push_back(fmt::format("{} gained {} trials and {} binaries.", to.path().string(),
                                    after.trials - before.trials, after.binaries - before.binaries));
  console.print(table, format);
  return done.empty() ? ExitCode::failed : ExitCode::done;
}

}  // namespace tilewright::cli
