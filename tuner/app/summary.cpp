// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/summary.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "tuner/app/stored_devices.hpp"
#include "tuner/app/stored_winners.hpp"
#include "tuner/report/summary_table.hpp"

namespace tilewright::app {

Table summary(const SummaryRequest& request) {
  Catalogue catalogue = open_catalogue(request.place);
  const Store store = open_to_read(request.place);
  std::vector<std::string> fingerprints;
  for (const DeviceFacts& device : choose_devices(store, request.device)) fingerprints.push_back(device.fingerprint());
  std::vector<WinnerLine> lines;
  for (const std::string& op : store.ops()) {
    const auto interface = store.interface_of(op);
    if (!interface) continue;
    StoredWinners winners =
        stored_winners(store, *interface, definition_of(op, catalogue, store), fingerprints, request.mode);
    std::move(winners.lines.begin(), winners.lines.end(), std::back_inserter(lines));
  }
  Table table = summary_table(fmt::format("Winners in {}", cache_path(request.place).string()), lines, false);
  if (lines.empty()) table.notes.push_back("There are no winners; make some: tilewright sweep OP");
  return table;
}

}  // namespace tilewright::app
