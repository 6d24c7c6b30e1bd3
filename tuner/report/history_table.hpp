// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/report/table.hpp"
#include "tuner/report/tried.hpp"

/// Winners of problems over time: each beside the one before, whether it is faster, and what else is different. Pure.
namespace tilewright {

struct HistoryLine {
  Problem problem;
  std::string device;
  /// It is served; false: another has taken its place.
  bool now = false;
  Trial trial;
  /// Whose place it took; nothing: it was the first.
  std::optional<Trial> before{};
};

/// A row a line, in their order.
[[nodiscard]] Table history_table(std::string title, const std::vector<HistoryLine>& lines);

}  // namespace tilewright
