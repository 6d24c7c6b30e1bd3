// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tuner/export/trial_records.hpp"
#include "tuner/report/winners_table.hpp"

/// Winners as Google Benchmark writes its results: what its compare.py and the tools around it read. `tilewright bench`
/// gives the same names to the same things, so that a cache is compared with a run.
namespace tilewright {

/// "softmax/bf16/pitch:dense/rows:8/cols:100/cold/winner": of a problem in a mode, what `role` says. No character of it
/// means anything in a regular expression.
[[nodiscard]] std::string benchmark_name(const Problem& problem, MeasureMode mode, const std::string& role);
/// "winner", "dynamic" or "base".
[[nodiscard]] std::string benchmark_role(WinnerRole role);

/// One winner; `line.row.winner` has the role.
struct BenchmarkLine {
  WinnerLine line;
  /// Null where its binary's figures are not known.
  const History::BuildOf* build = nullptr;
};

/// The whole document. The times are the medians of the trials that the winners rest on, for the processor's time as
/// well, as in a report of `bench`.
[[nodiscard]] std::string google_benchmark_text(const Store& store, const std::vector<BenchmarkLine>& lines);

}  // namespace tilewright
