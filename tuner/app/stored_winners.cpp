// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/stored_winners.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cache/base/holds.hpp"
#include "tuner/app/lookup.hpp"
#include "tuner/report/winner_lines.hpp"

namespace tilewright::app {

const OpDefinition* definition_of(const std::string& op, Catalogue& catalogue, const Store& store) {
  const std::vector<std::string> names = catalogue.names();
  if (std::find(names.begin(), names.end(), op) != names.end()) return &catalogue.find(op);
  const std::vector<std::string> stored = store.ops();
  if (std::find(stored.begin(), stored.end(), op) != stored.end()) return nullptr;
  return &catalogue.find(op);  // throws, with the nearest name
}

std::vector<std::string> defined_ops(const Store& store, const Catalogue& catalogue, Listener& listener) {
  const std::vector<std::string> known = catalogue.names();
  std::vector<std::string> ops = store.ops();
  std::erase_if(ops, [&](const std::string& op) {
    if (holds(known, op)) return false;
    listener.warn(fmt::format("{} is left: its definition is not here", op));
    return true;
  });
  return ops;
}

StoredWinners stored_winners(const Store& store, const OpInterface& interface, const OpDefinition* definition,
                             const std::vector<std::string>& fingerprints, std::optional<MeasureMode> mode) {
  const std::string hash = interface.hash();
  const std::vector<std::string> current = current_hashes(definition);
  StoredWinners winners;
  Ceilings ceilings(store);
  for (Store::WinnerRow& row :
       store.list_winners({.op = interface.op, .fingerprint = {}, .mode = mode, .role = WinnerRole::best})) {
    if (std::find(fingerprints.begin(), fingerprints.end(), row.device.fingerprint()) == fingerprints.end()) continue;
    if (row.interface_hash != hash) {
      ++winners.retired;
      continue;
    }
    const Match match{Fit::exact, freshness_here(row, current), DeviceFit::same_device};
    winners.lines.push_back(winner_line(ceilings, definition, std::move(row), match));
  }
  return winners;
}

std::string no_definition_note(const std::string& op) {
  return fmt::format(
      "The definition of {} is not on this machine, so bandwidths and ceilings are not known; name its folder with "
      "--ops DIR.",
      op);
}

}  // namespace tilewright::app
