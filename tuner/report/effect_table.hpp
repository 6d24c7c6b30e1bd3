// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tuner/report/table.hpp"
#include "tuner/report/tried.hpp"

/// The effect of one parameter: for each value in each implementation, how far the best and the median config with it
/// are from the best config of their problem, in any implementation. Pure.
namespace tilewright {

/// "implementation", then all parameters of these problems' configs, in order of appearance.
[[nodiscard]] std::vector<std::string> parameters_of(const std::vector<TriedProblem>& problems);

/// One row for each implementation and value, numbers in order, over the problems with a timed config of the value;
/// ratios over several problems are geometric means. "implementation" is a parameter, too. Configs without the
/// parameter count only as the best of their problem. No rows if no config has it.
[[nodiscard]] Table effect_table(std::string title, const std::vector<TriedProblem>& problems,
                                 const std::string& parameter);

}  // namespace tilewright
