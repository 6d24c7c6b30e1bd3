// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tuner/compile/compiler.hpp"
#include "tuner/process/worker_process.hpp"

/// A Compiler that runs in worker processes. NVRTC runs its front end under one lock per process, so threads of one
/// process compile a fraction of what as many processes do. A compile that hangs or crashes costs only its own process.
///
/// Each request gets one answer (process/worker_process.hpp). Any number of threads may compile at once.
namespace tilewright {

/// The worker's loop: answers requests from `socket` with `compiler` until the channel ends. Returns the process's exit
/// code.
int serve_compiles(Compiler& compiler, int socket);

class CompilerProcesses : public Compiler {
 public:
  struct Settings {
    /// The worker's path and arguments. It calls serve_compiles() with its standard input.
    std::vector<std::string> command;
    /// The version of the worker's compiler: part of a binary's identity.
    std::string version;
    /// The longest compile. After that the process is killed, and the kernel counts as one that does not compile.
    std::chrono::milliseconds limit{120'000};
    /// The limits of a worker. A compile that needs more memory ends it.
    ProcessLimits limits{};
    /// Polled by the compiling thread; true ends the compile as the limit does. May be empty.
    std::function<bool()> interrupted{};
  };

  explicit CompilerProcesses(Settings settings);
  CompilerProcesses(const CompilerProcesses&) = delete;
  CompilerProcesses& operator=(const CompilerProcesses&) = delete;
  /// No compile may be running. Waits for the idle workers to exit.
  ~CompilerProcesses() override;

  /// Compiles in an idle worker or a new one, so there are as many workers as threads that compile at once. Throws the
  /// worker compiler's Error or UsageError, and Error if a worker cannot be started. If a worker dies twice, or reaches
  /// the limit once, `ok` is false and the log says so.
  [[nodiscard]] CompileResult compile(const CompileRequest& request) override;
  [[nodiscard]] std::string version() const override { return settings_.version; }

  /// The idle workers; for tests.
  [[nodiscard]] std::vector<pid_t> workers() const;

 private:
  [[nodiscard]] std::unique_ptr<WorkerProcess> borrow(bool& fresh);
  /// Sets `ended` if the worker dies during the compile or sends a broken message.
  [[nodiscard]] CompileResult attempt(const CompileRequest& request, bool& ended);

  Settings settings_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<WorkerProcess>> idle_;
};

}  // namespace tilewright
