// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/analysis/intervals.hpp"
#include "tuner/analysis/roofline.hpp"
#include "tuner/report/table.hpp"
#include "tuner/report/tried.hpp"

/// Compares two sides problem by problem: two caches, two devices, or two versions of a driver or compiler. Pure.
namespace tilewright {

/// The best trial of a problem on one side.
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

/// The winner that the cache names if it is among the timed trials, else the fastest; nullopt if none was timed.
[[nodiscard]] std::optional<SideBest> best_of(const TriedProblem& problem);

/// One row for each problem with a time on both sides. Notes count the faster, the slower and the equal ones, and the
/// problems of one side alone. `name_a` and `name_b` name the sides for people.
[[nodiscard]] Table compare_table(std::string title, const std::string& name_a, const std::string& name_b,
                                  const std::vector<CompareLine>& lines);

}  // namespace tilewright
