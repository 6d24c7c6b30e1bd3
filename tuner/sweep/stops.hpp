// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/sweep/problem_run.hpp"
#include "tuner/sweep/sweep.hpp"

/// Where a sweep goes, in order: each problem, after the first of so much traffic its ceiling, and at the end rates of
/// the device's units. Values, made before anything is measured.
namespace tilewright {

struct Stop {
  enum class Goal : std::uint8_t {
    winners,  ///< a problem to tune
    ceiling,  ///< of a problem before it
    rate,     ///< of a unit of the device
  };
  Goal goal = Goal::winners;
  const OpDefinition* definition = nullptr;  ///< null: a ceiling with no copy op, of the device's own copy alone
  Problem problem;
  // Of a ceiling: its bytes, how many are read for each one written, and the stop of the problem it is for.
  std::int64_t bytes = 0;
  int reads = 1;
  std::size_t of = 0;
  std::string unit{};  ///< of a rate
  // While the sweep is there.
  std::unique_ptr<ProblemRun> run;
  std::optional<std::size_t> ordinal{};  ///< of a problem that was begun: how many were before it
  bool had_work = false;
  bool skipped = false;
  bool widened = false;     ///< of a Recheck: all configs are searched
  bool unservable = false;  ///< no config is legal for the problem
};

/// The request's problems, each once. `copy` may be null, and then there are ceilings of 1:1 alone.
[[nodiscard]] std::vector<Stop> plan_stops(const SweepRequest& request, const OpDefinition* copy);

/// The units that the request's problems compute with, and fp32, with which all do.
[[nodiscard]] std::set<std::string> units_of(const SweepRequest& request);

/// Measures the rate of a unit by the op; nothing where that has no problem of it.
[[nodiscard]] std::optional<Stop> rate_stop(const OpDefinition& op, const std::string& unit);

}  // namespace tilewright
