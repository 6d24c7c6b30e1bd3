// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tuner/process/process.hpp"

/// Runs another program and collects its output. For any thread: this process's state does not change (no chdir, no
/// signal handler).
namespace tilewright {

struct SubprocessResult {
  /// The exit code; 128 + N if signal N ended the program.
  int exit_code = 0;
  /// The limit or the interrupt was reached: the program and its children were killed.
  bool timed_out = false;
  /// Standard output and standard error, interleaved.
  std::string output;
};

/// Runs `command` (the program, looked up on the PATH, and its arguments) in `folder` (empty: this process's) without
/// input, with LC_ALL=C. `limits` apply to each of its processes. It is killed after `limit`, or once `interrupted`
/// (may be empty; asked twenty times a second) returns true. Throws Error if it cannot be started.
[[nodiscard]] SubprocessResult run_subprocess(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                                              const std::filesystem::path& folder = {},
                                              const ProcessLimits& limits = {},
                                              const std::function<bool()>& interrupted = {});

}  // namespace tilewright
