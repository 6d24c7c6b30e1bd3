// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/winner_lines.hpp"

#include <utility>

#include "cache/traffic.hpp"

namespace tilewright {

WinnerLine winner_line(const Store& store, const OpDefinition* definition, Store::WinnerRow row, const Match& match) {
  WinnerLine line;
  line.match = match;
  if (definition != nullptr && definition->interface.hash() == row.interface_hash) {
    line.bytes = definition->bytes_of(row.problem);
    line.flops = definition->flops_of(row.problem);
    const int reads = nearest_reads(traffic_of(definition->interface, row.problem));
    line.ceiling = store.ceiling(row.device.fingerprint(), *line.bytes, reads, row.mode);
    line.rate = store.compute_rate(row.device.fingerprint());
  }
  line.row = std::move(row);
  return line;
}

std::vector<std::string> current_hashes(const OpDefinition* definition) {
  std::vector<std::string> hashes;
  if (definition == nullptr) return hashes;
  for (const Implementation& implementation : definition->implementations) hashes.push_back(implementation.hash);
  return hashes;
}

}  // namespace tilewright
