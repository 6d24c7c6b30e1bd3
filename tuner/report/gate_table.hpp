// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tuner/analysis/gate.hpp"
#include "tuner/report/compare_table.hpp"
#include "tuner/report/table.hpp"

/// The verdict of `gate`, as a table and as JUnit for a CI. Pure.
namespace tilewright {

/// Whether a problem was timed again, both sides in turns.
struct TimedAgain {
  enum class Outcome : std::uint8_t { not_asked, timed, left };
  Outcome outcome = Outcome::not_asked;
  /// Why it was left.
  std::string why{};
};

struct GateReport {
  std::string a;
  std::string b;
  GateRule rule;
  /// The problems with both sides, in the order of the judgements.
  std::vector<CompareLine> lines;
  std::vector<GateJudgement> judgements;
  /// In the order of the lines; empty if timing again was not asked for.
  std::vector<TimedAgain> again{};
  /// The numbers of problems that one side alone has.
  std::size_t only_a = 0;
  std::size_t only_b = 0;

  [[nodiscard]] std::size_t count(GateVerdict verdict) const;
};

/// Failed problems first, then the undecided, then the others; each group has the slowest first.
[[nodiscard]] Table gate_table(const GateReport& report);
/// One test case for each problem; undecided ones are skipped.
[[nodiscard]] std::string gate_junit(const GateReport& report);

}  // namespace tilewright
