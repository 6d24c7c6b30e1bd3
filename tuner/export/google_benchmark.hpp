// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tuner/export/trial_records.hpp"
#include "tuner/report/winners_table.hpp"

/// Writes winners in the result format of Google Benchmark, for its compare.py and similar tools. `tilewright bench`
/// uses the same names, so that a cache can be compared with a run.
namespace tilewright {

/// "softmax/bf16/pitch:dense/rows:8/cols:100/cold/winner": a problem, its mode and `role`. No character of it has a
/// meaning in a regular expression.
[[nodiscard]] std::string benchmark_name(const Problem& problem, MeasureMode mode, const std::string& role);
/// "winner", "dynamic" or "base".
[[nodiscard]] std::string benchmark_role(WinnerRole role);

/// One winner; `line.row.winner` has the role.
struct BenchmarkLine {
  WinnerLine line;
  /// Null if the figures of its binary are unknown.
  const History::BuildOf* build = nullptr;
};

/// The whole document. Real and processor times are both the medians of the trials that the winners rest on, as in a
/// report of `bench`.
[[nodiscard]] std::string google_benchmark_text(const Store& store, const std::vector<BenchmarkLine>& lines);

}  // namespace tilewright
