// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/winner_lines.hpp"

#include <utility>

#include "tuner/analysis/roofline.hpp"

namespace tilewright {

WinnerLine winner_line(Ceilings& ceilings, const OpDefinition* definition, Store::WinnerRow row, const Match& match) {
  WinnerLine line;
  line.match = match;
  static_cast<Roofline&>(line) =
      roofline_of(ceilings, definition, row.interface_hash, row.problem, row.device.fingerprint(), row.mode);
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
