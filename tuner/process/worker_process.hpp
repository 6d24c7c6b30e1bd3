// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/process/channel.hpp"
#include "tuner/process/process.hpp"

/// A process that works for this one and may crash without harm, such as a compiler or the owner of a GPU. The two talk
/// over a socket, the worker's standard input; it closes when either process ends, in whatever way. One thread.
namespace tilewright {

class WorkerProcess {
 public:
  /// This process's stream that the worker's standard output goes to.
  enum class Output : std::uint8_t { standard_error, standard_output };
  /// Starts the process. Its standard error is this process's. Throws Error.
  explicit WorkerProcess(const std::vector<std::string>& command, const ProcessLimits& limits = {},
                         Output output = Output::standard_error);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  /// Closes the socket, waits a second for the process to end, then kills it.
  ~WorkerProcess();

  [[nodiscard]] const Channel& channel() const noexcept { return *channel_; }
  [[nodiscard]] pid_t process() const noexcept { return process_; }
  /// Kills the process and its children in the same process group.
  void kill() noexcept;
  /// Waits for the end of a process that closed its socket or was killed, and returns the cause: "signal 11
  /// (Segmentation fault)", "exit code 1". Returns "no end yet" after 20 seconds, or once `interrupted` (may be empty)
  /// returns true: a driver may hold a killed process.
  [[nodiscard]] std::string end(const std::function<bool()>& interrupted = {});

 private:
  WorkerProcess(const std::vector<std::string>& command, std::array<int, 2> sockets, const ProcessLimits& limits,
                Output output);

  std::optional<Channel> channel_;
  pid_t process_ = 0;
  bool killed_ = false;
};

/// Makes this worker and its process group end as soon as the other end of its socket closes, as it does when the other
/// process ends, even by kill -9. The worker may close its own end. Throws Error.
void end_with(int socket);

}  // namespace tilewright
