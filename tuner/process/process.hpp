// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// Starting another program and seeing its end: what run_subprocess (subprocess.hpp) and workers (worker_process.hpp)
/// have in common. Any number of threads may do so at once.
namespace tilewright {

/// The standard streams of the program, as open file descriptors of this process.
struct Streams {
  int input = -1;
  int output = -1;
  int error = -1;
};

/// The limits of each process of a program; 0: as much as this one. The operating system keeps to it, with or without
/// this process.
struct ProcessLimits {
  /// Bytes of address space. Not enforced where this program is instrumented by a sanitizer, which takes it all.
  std::size_t memory_bytes = 0;
  /// The longest processor time; then the process is killed.
  std::chrono::seconds processor{0};
};

/// The path of the very program that runs, even if another file has taken its place. Good in this process and in those
/// that it starts, while this process lives.
[[nodiscard]] std::string this_program();

/// Starts `command` (the program, looked up on the PATH, and its arguments) in `folder` (empty: where this process is),
/// in a process group of its own: neither Ctrl-C nor Ctrl-Z reaches it, and kill(-process, …) reaches all that it
/// starts. SIGTSTP is blocked there, so that a stop of this process is never one of a program half started. In English
/// (LC_ALL=C). Throws Error when it cannot be started.
[[nodiscard]] pid_t start_process(const std::vector<std::string>& command, const Streams& streams,
                                  const std::filesystem::path& folder = {}, const ProcessLimits& limits = {});

/// Waits for its end. The status is waitpid's.
int wait_for_process(pid_t process) noexcept;
/// Waits no longer than `patience`; nothing when it goes on.
[[nodiscard]] std::optional<int> wait_for_process(pid_t process, std::chrono::milliseconds patience) noexcept;

}  // namespace tilewright
