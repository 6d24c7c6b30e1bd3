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

/// The steps of a sweep in order: each problem, followed by its traffic's ceiling, of which one for each traffic is
/// measured; finally the rates of the device's units. Values, made before anything is measured.
namespace tilewright {

struct Step {
  enum class Goal : std::uint8_t {
    winners,  ///< a problem to tune
    ceiling,  ///< of an earlier problem
    rate,     ///< of a unit of the device
  };
  Goal goal = Goal::winners;
  const OpDefinition* definition = nullptr;  ///< null: a ceiling by the device's own copy, without a copy op
  Problem problem;
  // Of a ceiling: its bytes, bytes read per byte written, and the step of its problem.
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

/// The request's problems, each once. If `copy` is null, only 1:1 traffic has ceilings.
[[nodiscard]] std::vector<Step> plan_steps(const SweepRequest& request, const OpDefinition* copy);

/// The units that the request's problems use, and fp32, which all use.
[[nodiscard]] std::set<std::string> units_of(const SweepRequest& request);

/// The step that measures a unit's rate with the op; nullopt if the op has no problem for it.
[[nodiscard]] std::optional<Step> rate_step(const OpDefinition& op, const std::string& unit);

}  // namespace tilewright
