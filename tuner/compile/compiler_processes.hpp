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

/// A compiler in processes of its own. NVRTC runs its front end under one lock a process, so that threads of one
/// process compile a fraction of what as many processes do; and a compile that never ends, or that brings its process
/// down, costs that process and no more.
///
/// A request, then its answer (process/worker_process.hpp).
namespace tilewright {

/// The worker's loop: answers requests that come over `socket` by `compiler` until there are no more. Returns the
/// process's exit code.
int serve_compiles(Compiler& compiler, int socket);

class CompilerProcesses : public Compiler {
 public:
  struct Settings {
    /// The worker, by path, and its arguments. It calls serve_compiles with its standard input.
    std::vector<std::string> command;
    /// As the worker's compiler has it: part of a binary's identity.
    std::string version;
    /// The longest compile. Then its process is killed, and the kernel counts as one that does not compile.
    std::chrono::milliseconds limit{120'000};
    /// The limits of a worker. A compile that needs more memory ends it.
    ProcessLimits limits{};
    /// Asked often while a compile runs, by its thread; true ends it as the limit does. May be empty.
    std::function<bool()> interrupted{};
  };

  explicit CompilerProcesses(Settings settings);
  CompilerProcesses(const CompilerProcesses&) = delete;
  CompilerProcesses& operator=(const CompilerProcesses&) = delete;
  /// No compile may be running. Waits for the workers, which have nothing left to do.
  ~CompilerProcesses() override;

  /// In a worker that is idle, or a new one: so there are as many as threads compile at once. Throws what the worker's
  /// compiler threw (an Error or a UsageError with its words), and Error where a worker cannot be started. A worker
  /// that comes to its end twice, or once to the limit, gives `ok` false and says so in the log.
  [[nodiscard]] CompileResult compile(const CompileRequest& request) override;
  [[nodiscard]] std::string version() const override { return settings_.version; }

  /// Running now: for tests.
  [[nodiscard]] std::vector<pid_t> workers() const;

 private:
  [[nodiscard]] std::unique_ptr<WorkerProcess> borrow(bool& fresh);
  /// Sets `ended` when the worker came to its end meanwhile.
  [[nodiscard]] CompileResult attempt(const CompileRequest& request, bool& ended);

  Settings settings_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<WorkerProcess>> idle_;
};

}  // namespace tilewright
