// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "cache/base/clock.hpp"
#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "tuner/app/stored_devices.hpp"
#include "tuner/app/stored_winners.hpp"
#include "tuner/report/page_data.hpp"

namespace tilewright::app {
namespace {

std::vector<std::string> ops_of(const std::string& op, const Store& store) {
  std::vector<std::string> stored = store.ops();
  if (op.empty()) return stored;
  if (std::find(stored.begin(), stored.end(), op) != stored.end()) return {op};
  throw UsageError(fmt::format("the cache {} has no op '{}'{}; tune it: tilewright sweep {}", store.path().string(), op,
                               suggestion(op, stored), op));
}

/// Keeps the trials of the wanted devices. Other devices go, so that the page offers no device without trials.
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
    notes.push_back(fmt::format("Left out: {} of an older interface of {}.", counted(winners.retired, "winner"), op));
  }
  return {*interface, std::move(winners.lines)};
}

PageInput gather(const ReportRequest& request, const Store& store) {
  PageInput input;
  const std::vector<std::string> ops = ops_of(request.op, store);
  input.title = request.op.empty() ? "All ops" : ops.front();
  input.source = store.path().filename().string();
  input.made_at = now_seconds();
  std::vector<std::string> fingerprints;
  for (const DeviceFacts& device : choose_devices(store, request.device)) {
    const std::string fingerprint = device.fingerprint();
    fingerprints.push_back(fingerprint);
    input.rates.emplace(fingerprint, store.compute_rates(fingerprint));
    input.ceilings.emplace(fingerprint, store.ceilings(fingerprint));
  }
  input.history = store.history(request.op);
  keep_devices(input.history, fingerprints);
  Catalogue catalogue = open_catalogue(request.place);
  for (const std::string& op : ops) input.ops.push_back(page_op(op, store, catalogue, fingerprints, input.notes));
  const bool emulated = std::any_of(input.history.devices.begin(), input.history.devices.end(),
                                    [](const auto& device) { return device.second.is_cpu(); });
  if (emulated) input.notes.push_back(emulator_note());
  return input;
}

}  // namespace

Report report(const ReportRequest& request) {
  const Store store(cache_path(request.place), {.access = StoreAccess::copy});
  const PageInput input = gather(request, store);
  if (input.history.trials.empty() && !request.may_be_empty) {
    throw Error(
        fmt::format("the cache {} has no such trial to show, and nothing was written; make some with "
                    "`tilewright sweep OP`",
                    store.path().string()));
  }
  std::set<std::pair<std::string, std::string>> served;
  for (const PageOp& op : input.ops) {
    for (const WinnerLine& line : op.winners) served.emplace(line.row.problem.key(), line.row.device.fingerprint());
  }
  return {make_page(input), served.size(), input.history.trials.size()};
}

}  // namespace tilewright::app
