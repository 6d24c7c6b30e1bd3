// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/analysis/roofline.hpp"
#include "tuner/report/table.hpp"
#include "tuner/report/tried.hpp"

/// Two sides by side, problem by problem: two caches, two devices, or two versions of a driver or compiler. Pure.
namespace tilewright {

/// The best of a problem on one side.
struct SideBest {
  Trial trial;
  std::string device;
  Roofline roofline{};
};

struct CompareLine {
  Problem problem;
  std::optional<SideBest> a;
  std::optional<SideBest> b;
};

/// The winner that the cache names where it is among the trials, else the fastest; nothing when none was timed.
[[nodiscard]] std::optional<SideBest> best_of(const TriedProblem& problem);

/// a's time over b's, with the bounds that their intervals allow.
struct SpeedUp {
  double ratio = 0;
  double low = 0;
  double high = 0;
  /// The bounds do not hold 1.
  [[nodiscard]] bool significant() const noexcept { return low > 1 || high < 1; }
};
/// From the 95 % intervals, widened by what looks at different moments differ by (search/leaders.hpp): the two sides
/// were never timed in turns.
[[nodiscard]] SpeedUp speed_up(const Trial& a, const Trial& b);

/// Rows where both sides have a time; below them how many are faster, how many cannot be told apart, and what only one
/// has. `name_a` and `name_b` are what people call the sides.
[[nodiscard]] Table compare_table(std::string title, const std::string& name_a, const std::string& name_b,
                                  const std::vector<CompareLine>& lines);

}  // namespace tilewright
