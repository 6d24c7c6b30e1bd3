// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/report/table.hpp"
#include "tuner/report/tried.hpp"

/// Winners of problems over time, each compared with the one before: whether it is faster, and what changed. Pure.
namespace tilewright {

struct HistoryLine {
  Problem problem;
  std::string device;
  /// Whether it is served; false: another has replaced it.
  bool now = false;
  Trial trial;
  /// The winner that it replaced; nullopt: it was the first.
  std::optional<Trial> before{};
};

/// One row for each line, in their order.
[[nodiscard]] Table history_table(std::string title, const std::vector<HistoryLine>& lines);

}  // namespace tilewright
