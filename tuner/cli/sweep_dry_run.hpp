// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "tuner/cli/arguments.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/sweep/sweep.hpp"

/// `tilewright sweep … --dry-run`: what a sweep would do, and how long it would take.
namespace tilewright::cli {

/// `problems`: of the command line, for the emulator or for a GPU. Beside what a sweep takes, `--device` may name a
/// device of the cache that is not here.
[[nodiscard]] ExitCode run_sweep_dry(const Arguments& arguments, Console& console, SweepRequest request,
                                     const std::function<std::vector<Problem>(bool emulator)>& problems);

}  // namespace tilewright::cli
