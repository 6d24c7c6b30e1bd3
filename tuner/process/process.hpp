// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// Starts another program and waits for its end: the common part of run_subprocess (subprocess.hpp) and workers
/// (worker_process.hpp). For any thread.
namespace tilewright {

/// The program's standard streams, as open file descriptors of this process.
struct Streams {
  int input = -1;
  int output = -1;
  int error = -1;
};

/// Limits of each process of a program, enforced by the operating system; 0: as this process.
struct ProcessLimits {
  /// Bytes of address space. Not enforced in sanitizer builds, which reserve almost all of it.
  std::size_t memory_bytes = 0;
  /// The processor time after which the process is killed.
  std::chrono::seconds processor{0};
};

/// A path to the running program, even if its file was replaced. Valid in this process and its children while this
/// process lives.
[[nodiscard]] std::string this_program();

/// Starts `command` (the program, looked up on the PATH, and its arguments) in `folder` (empty: this process's), with
/// LC_ALL=C. It gets its own process group: Ctrl-C and Ctrl-Z do not reach it, and kill(-process, …) reaches all its
/// children. SIGTSTP is blocked in it, so that Ctrl-Z cannot stop it half started. Throws Error if it cannot be
/// started.
[[nodiscard]] pid_t start_process(const std::vector<std::string>& command, const Streams& streams,
                                  const std::filesystem::path& folder = {}, const ProcessLimits& limits = {});

/// Waits for the process to end. Returns waitpid's status.
int wait_for_process(pid_t process) noexcept;
/// Waits at most `patience`; nullopt if the process still runs.
[[nodiscard]] std::optional<int> wait_for_process(pid_t process, std::chrono::milliseconds patience) noexcept;

}  // namespace tilewright
