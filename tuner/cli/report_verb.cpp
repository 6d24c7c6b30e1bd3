// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/store/sqlite/first_bytes.hpp"
#include "tuner/analysis/units.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/output_file.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/stored_devices.hpp"
#include "tuner/cli/stored_winners.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/report/page.hpp"
#include "tuner/report/page_data.hpp"

namespace tilewright::cli {
namespace {

std::vector<std::string> ops_of(const Arguments& arguments, const Store& store) {
  std::vector<std::string> stored = store.ops();
  if (arguments.words().empty()) return stored;
  const std::string& op = arguments.words().front();
  if (std::find(stored.begin(), stored.end(), op) != stored.end()) return {op};
  throw UsageError(fmt::format("the cache {} has no op '{}'{}; tune it: tilewright sweep {}", store.path().string(), op,
                               suggestion(op, stored), op));
}

/// Trials of the devices wanted alone; the others' rows go, so that the page offers no device without trials.
void keep_devices(History& history, const std::vector<std::string>& fingerprints) {
  std::erase_if(history.devices, [&](const auto& device) {
    return std::find(fingerprints.begin(), fingerprints.end(), device.second.fingerprint()) == fingerprints.end();
  });
  std::erase_if(history.trials,
                [&](const History::TrialOf& trial) { return history.devices.count(trial.device) == 0; });
}

PageOp page_op(const std::string& op, const Store& store, Catalogue& catalogue,
               const std::vector<std::string>& fingerprints, std::vector<std::string>& notes) {
  const OpDefinition* definition = definition_of(op, catalogue, store);
  const auto interface = store.interface_of(op);
  StoredWinners winners = stored_winners(store, *interface, definition, fingerprints, std::nullopt);
  if (definition == nullptr) notes.push_back(no_definition_note(op));
  if (winners.retired > 0) {
    notes.push_back(fmt::format("{} winners of an older interface of {} are left out.", winners.retired, op));
  }
  return {*interface, std::move(winners.lines)};
}

PageInput gather(const Arguments& arguments, const Store& store) {
  PageInput input;
  const std::vector<std::string> ops = ops_of(arguments, store);
  input.title = arguments.words().empty() ? "All ops" : ops.front();
  input.source = store.path().filename().string();
  input.made_at =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::vector<std::string> fingerprints;
  for (const DeviceFacts& device : choose_devices(store, arguments.text("device"))) {
    const std::string fingerprint = device.fingerprint();
    fingerprints.push_back(fingerprint);
    input.rates.emplace(fingerprint, store.compute_rates(fingerprint));
    input.ceilings.emplace(fingerprint, store.ceilings(fingerprint));
  }
  input.history = store.history(arguments.words().empty() ? "" : ops.front());
  keep_devices(input.history, fingerprints);
  Catalogue catalogue = open_catalogue(arguments);
  for (const std::string& op : ops) input.ops.push_back(page_op(op, store, catalogue, fingerprints, input.notes));
  const bool emulated = std::any_of(input.history.devices.begin(), input.history.devices.end(),
                                    [](const auto& device) { return device.second.is_cpu(); });
  if (emulated) input.notes.push_back(emulator_note());
  return input;
}

/// Of a database there is mostly one, and of a page as many as one likes.
void refuse_database(const std::filesystem::path& file) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  if (OutputFile::replaces(file) && first_bytes(file, kMagic.size()) == kMagic) {
    throw UsageError(
        fmt::format("{} is an SQLite database, which the page would replace; name another file", file.string()));
  }
}

ExitCode run(const Arguments& arguments, Console& console) {
  arguments.require_at_most(1);
  if (!arguments.has("output")) throw UsageError("report needs a file to write: tilewright report -o report.html");
  const std::filesystem::path file = arguments.text("output");
  const bool to_standard_output = OutputFile::is_standard_output(file);
  if (!to_standard_output) {
    OutputFile::refuse_cache(file, cache_path(arguments));
    refuse_database(file);
  }
  // As the cache is at one moment: a sweep may be adding to it. The file may be of an older schema, too.
  const Store store(cache_path(arguments), {.access = StoreAccess::copy});
  const PageInput input = gather(arguments, store);
  std::set<std::pair<std::string, std::string>> served;
  for (const PageOp& op : input.ops) {
    for (const WinnerLine& line : op.winners) served.emplace(line.row.problem.key(), line.row.device.fingerprint());
  }
  if (input.history.trials.empty()) {
    throw Error(
        fmt::format("the cache {} has no such trial to show, and nothing was written; make some with "
                    "`tilewright sweep OP`",
                    store.path().string()));
  }
  const std::string page = report_page(page_data(input));
  OutputFile output(file, console);
  output.write(page);
  output.commit();
  const std::string said = fmt::format("{} problems served and {} trials in {}; open it in a browser.", served.size(),
                                       input.history.trials.size(), show_bytes(static_cast<double>(page.size())));
  if (to_standard_output) {
    console.say(said);
  } else {
    console.print(fmt::format("{}: {}\n", file.string(), said));
  }
  return ExitCode::done;
}

}  // namespace

Verb report_verb() {
  Verb verb;
  verb.name = "report";
  verb.summary = "Write the cache as pictures: one HTML file, opened in a browser with no network";
  verb.usage = "[OP] -o FILE [OPTION...]";
  verb.description = {
      "Views: a summary; a heat map of time, share of ceiling or any parameter over the shapes; the winners under the "
      "measured roofs; all configs of a problem; the effect of each parameter; sweeps over time; failures by kind; the "
      "evidence of each winner. Op, type, device and mode are chosen in the page; its address links to what is shown, "
      "and each figure is a table, too. The cache is read as it is at one moment, also while a sweep writes it.",
  };
  verb.options = {
      {"output", "FILE", "The file to write, or - for standard output; it is replaced if it is there.", false, 'o'},
      kDevice,
      kOps,
      kCache,
  };
  verb.examples = {{"tilewright report -o report.html", "All ops."},
                   {"tilewright report softmax --device H200 -o softmax.html", "One op on one device."}};
  verb.exit_codes =
      "0 done, 1 there is no trial to show or a file cannot be read or written, 2 the command line is wrong.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
