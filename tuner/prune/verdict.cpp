// SPDX-License-Identifier: Apache-2.0
#include "tuner/prune/verdict.hpp"

namespace tilewright {

std::string_view pruned_by(std::string_view reason) {
  for (const std::string_view by : {kPrunedByModel, kPrunedForOccupancy}) {
    if (reason.starts_with(by) && reason.substr(by.size()).starts_with(": ")) return by;
  }
  return "";
}

std::string kind_of_prune(std::string_view reason) {
  const std::string_view by = pruned_by(reason);
  if (by == kPrunedByModel) return "pruned before compiling: too slow at best, by grid, blocks and tiles";
  if (by == kPrunedForOccupancy) return "pruned after compiling: too slow at best, by registers";
  return "pruned";
}

}  // namespace tilewright
