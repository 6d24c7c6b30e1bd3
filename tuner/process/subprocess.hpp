// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tuner/process/process.hpp"

/// Running another program and collecting what it prints. Any number of threads may do so at once: nothing of this
/// process changes (no chdir, no signal handler).
namespace tilewright {

struct SubprocessResult {
  /// The exit code; 128 + N when signal N ended it.
  int exit_code = 0;
  /// The limit was reached, or the interrupt came, and the program with all that it had started was killed.
  bool timed_out = false;
  /// Standard output and standard error, as they came.
  std::string output;
};

/// Runs `command` (the program, looked up on the PATH, and its arguments) in `folder` (empty: where this process is)
/// with no input, in English (LC_ALL=C). Throws Error when it cannot be started. `limits` are of each of its processes.
/// When `interrupted` (may be empty; asked often) it is killed as at the limit.
[[nodiscard]] SubprocessResult run_subprocess(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                                              const std::filesystem::path& folder = {},
                                              const ProcessLimits& limits = {},
                                              const std::function<bool()>& interrupted = {});

}  // namespace tilewright
