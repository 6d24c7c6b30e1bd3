// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tuner/report/table.hpp"
#include "tuner/report/tried.hpp"

/// The effect of one parameter: for each of its values in each implementation, the distance of the best and the median
/// config with it from the best config of their problem, of any implementation. Pure.
namespace tilewright {

/// All parameters that configs of these problems have, in order of appearance, and "implementation".
[[nodiscard]] std::vector<std::string> parameters_of(const std::vector<TriedProblem>& problems);

/// One row an implementation and value, numbers in order, over the problems in which a config with it was timed; ratios
/// over several problems are geometric means. "implementation" is a parameter, too. Configs that do not have the
/// parameter count as nothing but the best of their problem. No rows: no config has it.
[[nodiscard]] Table effect_table(std::string title, const std::vector<TriedProblem>& problems,
                                 const std::string& parameter);

}  // namespace tilewright
