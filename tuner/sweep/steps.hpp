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

/// The steps of a sweep, in order: each problem, followed by the ceiling of its traffic where it is the first of that
/// traffic; at the end the rates of the device's units. Values, made before anything is measured.
namespace tilewright {

struct Step {
  enum class Goal : std::uint8_t {
    winners,  ///< a problem to tune
    ceiling,  ///< of a problem before it
    rate,     ///< of a unit of the device
  };
  Goal goal = Goal::winners;
  const OpDefinition* definition = nullptr;  ///< null: a ceiling with no copy op, of the device's own copy alone
  Problem problem;
  // Of a ceiling: its bytes, bytes read for each byte written, and the step of its problem.
  std::int64_t bytes = 0;
  int reads = 1;
  std::size_t of = 0;
  std::string unit{};  ///< of a rate
  // State while the sweep runs.
  std::unique_ptr<ProblemRun> run;
  std::optional<std::size_t> ordinal{};  ///< of a problem that has begun: its number
  bool had_work = false;
  bool skipped = false;
  bool widened = false;     ///< of a Recheck: all configs are searched
  bool unservable = false;  ///< no config is legal for the problem
};

/// The request's problems, each once. `copy` may be null, and then there are ceilings of 1:1 alone.
[[nodiscard]] std::vector<Step> plan_steps(const SweepRequest& request, const OpDefinition* copy);

/// The units that the request's problems compute with, and fp32, with which all do.
[[nodiscard]] std::set<std::string> units_of(const SweepRequest& request);

/// Measures the rate of a unit by the op; nothing where that has no problem of it.
[[nodiscard]] std::optional<Step> rate_step(const OpDefinition& op, const std::string& unit);

}  // namespace tilewright
