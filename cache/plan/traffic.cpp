// SPDX-License-Identifier: Apache-2.0
#include "cache/plan/traffic.hpp"

#include <cmath>

#include "cache/plan/plan.hpp"

namespace tilewright {

Traffic traffic_of(const OpInterface& interface, const Problem& problem) {
  Traffic traffic;
  // plan_args() has checked the same sums for overflow.
  for (const PlannedArg& arg : plan_args(interface, problem)) {
    if (arg.role == ArgRole::scalar) continue;
    const auto bytes = static_cast<std::int64_t>(arg.bytes);
    if (arg.role != ArgRole::out) traffic.read += bytes;
    if (arg.role != ArgRole::in) traffic.written += bytes;
  }
  return traffic;
}

int nearest_reads(const Traffic& traffic) noexcept {
  const double read = static_cast<double>(traffic.read);
  const double written = static_cast<double>(traffic.written);
  int nearest = 1;
  for (int reads = 2; reads <= kMostReads; ++reads) {
    // Compared without a division: `written` may be 0.
    if (std::abs(read - reads * written) < std::abs(read - nearest * written)) nearest = reads;
  }
  return written > 0 ? nearest : traffic.read > 0 ? kMostReads : 1;
}

}  // namespace tilewright
