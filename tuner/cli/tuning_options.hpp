// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/app/tuning.hpp"
#include "tuner/cli/arguments.hpp"

/// Options of verbs that tune and measure.
namespace tilewright::cli {

/// --device and --devices where they name devices of this machine, --timeout, --compile-timeout, --jobs. Throws
/// UsageError for both of the first.
[[nodiscard]] app::Work work_of(const Arguments& arguments);
/// These, and how a sweep searches and measures.
[[nodiscard]] app::Tuning tuning_of(const Arguments& arguments);

}  // namespace tilewright::cli
