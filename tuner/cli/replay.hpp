// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/cli/verb.hpp"

namespace tilewright::cli {

/// `sweep --replay FILE`: strategies against the trials of an exhaustive sweep, with no device.
ExitCode run_replay(const Arguments& arguments, Console& console);

}  // namespace tilewright::cli
