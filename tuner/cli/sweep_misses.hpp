// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/cli/arguments.hpp"
#include "tuner/cli/console.hpp"

/// Misses at the command line: shapes that applications asked for and that were not tuned (cache/store/miss_file.hpp).
namespace tilewright::cli {

/// `sweep --misses [OP]`: tunes those of the device at hand, and forgets each that then has a winner.
ExitCode run_sweep_misses(const Arguments& arguments, Console& console);

/// `list misses`.
ExitCode list_misses(const Arguments& arguments, Console& console);

}  // namespace tilewright::cli
