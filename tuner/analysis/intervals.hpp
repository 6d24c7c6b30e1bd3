// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/model/records.hpp"

/// The likely interval of a config's time, and the comparison of two times. Pure.
namespace tilewright {

/// Whether the trial has a time.
[[nodiscard]] bool timed(const Trial& trial) noexcept;

/// The likely interval of a config's time: its 95 % interval, widened by errors that it omits. Two rounds give no
/// interval, and the clock drifts between looks.
struct Likely {
  double low_ns = 0;
  double high_ns = 0;
};
[[nodiscard]] Likely likely(const Trial& trial) noexcept;

/// a's time over b's, with bounds from their intervals.
struct SpeedUp {
  double ratio = 0;
  double low = 0;
  double high = 0;
  /// Whether the bounds exclude 1.
  [[nodiscard]] bool significant() const noexcept { return low > 1 || high < 1; }
};
/// From the 95 % intervals, widened by the drift between looks, because the two sides were not timed in turns.
[[nodiscard]] SpeedUp speed_up(const Trial& a, const Trial& b);

}  // namespace tilewright
