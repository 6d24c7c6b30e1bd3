// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "tuner/cli/arguments.hpp"
#include "tuner/sweep/sweep.hpp"

/// The options of `sweep` that say how configs are searched: --strategy, --budget, --max-trials, --seed, --no-prune.
namespace tilewright::cli {

/// "60s", "500ms", "5m", "1h", "1.5h"; throws UsageError that names the option.
[[nodiscard]] std::chrono::nanoseconds read_duration(const std::string& option, const std::string& text);

/// Sets what these options say in `request`.
void read_search_options(const Arguments& arguments, SweepRequest& request);

}  // namespace tilewright::cli
