// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace tilewright {

/// Now, in microseconds since 1970: orders the events of several processes on a timeline. Not for durations, since the
/// clock may be set.
[[nodiscard]] inline std::int64_t moment_us() {
  using std::chrono::duration_cast;
  return duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace tilewright
