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

/// A process that works for this one and may be lost without harm: one that compiles, or one that has a GPU. The two
/// talk over the socket that is the worker's standard input; when either ends, however it ends, so does the
/// conversation.
namespace tilewright {

class WorkerProcess {
 public:
  /// The stream that it prints to.
  enum class Output : std::uint8_t { standard_error, standard_output };
  /// Starts it. Its errors go to this process's standard error. Throws Error.
  explicit WorkerProcess(const std::vector<std::string>& command, const ProcessLimits& limits = {},
                         Output output = Output::standard_error);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  /// Ends the conversation, and waits a while for the process, which then has nothing left to do.
  ~WorkerProcess();

  [[nodiscard]] const Channel& channel() const noexcept { return *channel_; }
  [[nodiscard]] pid_t process() const noexcept { return process_; }
  /// It, and what it started that has no process group of its own.
  void kill() noexcept;
  /// Waits for the end of a process that ended the conversation or was killed, and says how that came: "signal 11
  /// (Segmentation fault)", "exit code 1". One that a driver does not let go of is waited for no longer once
  /// `interrupted` (may be empty).
  [[nodiscard]] std::string end(const std::function<bool()>& interrupted = {});

 private:
  WorkerProcess(const std::vector<std::string>& command, std::array<int, 2> sockets, const ProcessLimits& limits,
                Output output);

  std::optional<Channel> channel_;
  pid_t process_ = 0;
  bool killed_ = false;
};

/// Makes this worker end, with all that it started, as soon as the other end of its socket is closed, whatever it is
/// busy with. That socket closes when the other process ends, even by kill -9. The worker may close its own end. Throws
/// Error.
void end_with(int socket);

}  // namespace tilewright
