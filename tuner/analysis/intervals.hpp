// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/model/records.hpp"

/// The interval in which a config's time is taken to lie, and the comparison of two times. Pure.
namespace tilewright {

/// A trial with a time.
[[nodiscard]] bool timed(const Trial& trial) noexcept;

/// The interval in which a config's time is taken to lie: its 95 % interval, widened by what such intervals do not
/// hold: two rounds have none, and looks at different moments differ by the clock's drift.
struct Likely {
  double low_ns = 0;
  double high_ns = 0;
};
[[nodiscard]] Likely likely(const Trial& trial) noexcept;

/// a's time over b's, with the bounds that their intervals allow.
struct SpeedUp {
  double ratio = 0;
  double low = 0;
  double high = 0;
  /// The bounds do not hold 1.
  [[nodiscard]] bool significant() const noexcept { return low > 1 || high < 1; }
};
/// From the 95 % intervals, widened by what looks at different moments differ by: the two sides were
/// never timed in turns.
[[nodiscard]] SpeedUp speed_up(const Trial& a, const Trial& b);

}  // namespace tilewright
