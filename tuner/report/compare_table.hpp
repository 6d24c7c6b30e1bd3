// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/analysis/intervals.hpp"
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
  std::string interface_hash{};
  std::string implementation_hash{};
};

struct CompareLine {
  Problem problem;
  std::optional<SideBest> a;
  std::optional<SideBest> b;
};

/// The winner that the cache names where it is among the trials, else the fastest; nothing when none was timed.
[[nodiscard]] std::optional<SideBest> best_of(const TriedProblem& problem);

/// Rows where both sides have a time; below them how many are faster, how many cannot be told apart, and what only one
/// has. `name_a` and `name_b` are what people call the sides.
[[nodiscard]] Table compare_table(std::string title, const std::string& name_a, const std::string& name_b,
                                  const std::vector<CompareLine>& lines);

}  // namespace tilewright
