// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/app/place.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/report/table.hpp"

/// Values of the options that several verbs share.
namespace tilewright::cli {

/// --format
[[nodiscard]] Format format_of(const Arguments& arguments);
/// --mode, or nullopt if it is not given.
[[nodiscard]] std::optional<MeasureMode> mode_of(const Arguments& arguments);
/// --cache and --ops.
[[nodiscard]] app::Place place_of(const Arguments& arguments);
/// OP and the words behind it. Throws UsageError if OP is missing.
[[nodiscard]] app::ProblemWords read_problem_words(const Arguments& arguments);

}  // namespace tilewright::cli
