// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cache/error.hpp"
#include "cache/store/transfer.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/stored_devices.hpp"
#include "tuner/cli/transfer_table.hpp"
#include "tuner/report/units.hpp"

namespace tilewright::cli {
namespace {

TransferFilter filter_of(const Arguments& arguments, const Store& store) {
  TransferFilter filter;
  filter.ops = arguments.words();
  const std::vector<std::string> known = store.ops();
  for (const std::string& op : filter.ops) {
    if (std::find(known.begin(), known.end(), op) != known.end()) continue;
    throw UsageError(fmt::format("the cache {} has no op '{}'{}", store.path().string(), op, suggestion(op, known)));
  }
  if (arguments.has("device")) {
    for (const DeviceFacts& device : choose_devices(store, arguments.text("device"))) {
      filter.devices.push_back(device.fingerprint());
    }
  }
  return filter;
}

}  // namespace

ExitCode run_export_verb(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  if (!arguments.has("output")) {
    throw UsageError("export needs a file to write: tilewright export -o winners.db");
  }
  const std::filesystem::path file = arguments.text("output");
  if (std::filesystem::exists(file) && !arguments.has("force")) {
    throw UsageError(fmt::format("{} is there already; name another file, or replace it with --force", file.string()));
  }
  // A recording may be made of a cache of an older schema: what sweeps measured once stays worth replaying.
  const Store store =
      arguments.has("trials") ? Store(cache_path(arguments), {.access = StoreAccess::copy}) : open_to_read(arguments);
  const bool recording = arguments.has("trials");
  const TransferFilter filter = filter_of(arguments, store);
  const std::vector<Transferred> done =
      recording ? export_trials(store, file, filter) : export_winners(store, file, filter);
  if (done.empty()) {
    throw Error(
        fmt::format("the cache {} has no such {} to export, and nothing was written; make some with "
                    "`tilewright sweep OP`",
                    store.path().string(), recording ? "trial" : "winner"));
  }
  Table table = transfer_table(fmt::format("Exported from {}", store.path().string()), done, TransferColumns::exported);
  const Store made(file, {.access = StoreAccess::read});
  table.notes.push_back(fmt::format("{} has {} with {} trials and {} binaries.", file.string(),
                                    show_bytes(static_cast<double>(std::filesystem::file_size(file))),
                                    made.counts().trials, made.counts().binaries));
  console.print(table, format);
  return ExitCode::done;
}

}  // namespace tilewright::cli
