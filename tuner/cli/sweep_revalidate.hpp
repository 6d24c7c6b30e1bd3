// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/cli/verb.hpp"

namespace tilewright::cli {

class Arguments;
class Console;

/// `sweep --revalidate [OP]`: stale winners are timed again beside those that led with them.
[[nodiscard]] ExitCode run_sweep_revalidate(const Arguments& arguments, Console& console);

}  // namespace tilewright::cli
