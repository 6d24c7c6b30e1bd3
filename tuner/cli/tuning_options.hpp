// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "cache/model/records.hpp"
#include "tuner/app/tuning.hpp"
#include "tuner/cli/arguments.hpp"

/// Options of verbs that tune and measure.
namespace tilewright::cli {

/// --compile-timeout and --jobs.
[[nodiscard]] app::Work limits_of(const Arguments& arguments);
/// limits_of(), --device and --devices for verbs that open devices, and --timeout. Throws UsageError if --device and
/// --devices are given.
[[nodiscard]] app::Work work_of(const Arguments& arguments);
/// The failures that the list of `option` names; none if it is not given.
[[nodiscard]] std::set<TrialStatus> failures_of(const Arguments& arguments, const std::string& option);
/// work_of(), and how a sweep searches and measures.
[[nodiscard]] app::Tuning tuning_of(const Arguments& arguments);

}  // namespace tilewright::cli
