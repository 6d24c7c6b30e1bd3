// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tuner/compile/compiler.hpp"

/// Compiles on several threads, each key once. Jobs start in the order submitted and are handed out in the order
/// finished. All methods may be called from any thread; destruction drops what waits and joins what runs.
namespace tilewright {

class CompilePool {
 public:
  /// `workers` 0: one a core. `compiler` must outlive the pool.
  CompilePool(Compiler& compiler, int workers);
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;
  ~CompilePool();

  /// A finished job. `error` is what the compiler threw; then `result` is empty.
  struct Finished {
    std::string key;
    CompileResult result;
    std::exception_ptr error;
    /// The number of the pool's worker, from 0, and the moment when it began (tuner/process/moment.hpp).
    int worker = 0;
    std::int64_t began_us = 0;
  };

  /// Makes the request on the worker's thread, then compiles it: a sweep queues thousands, whose sources need not all
  /// stand in memory. False, and nothing is queued, when a job of that key waits, runs, or has finished and not been
  /// taken yet.
  bool submit(const std::string& key, std::function<CompileRequest()> request);
  bool submit(const std::string& key, CompileRequest request);

  /// The job that finished first of those not taken, waiting for one up to `patience`. Nothing when there is none and
  /// none can come, or when the patience ends.
  [[nodiscard]] std::optional<Finished> next(std::chrono::milliseconds patience = std::chrono::hours(24));
  /// The job of one key, waiting for it. Nothing when there is no such job, or when it is cancelled meanwhile.
  [[nodiscard]] std::optional<Finished> take(const std::string& key);

  /// Puts a job that waits before all others.
  void hurry(const std::string& key);
  /// Drops every job that has not started, and returns how many those were. Running ones finish, and are handed out.
  std::size_t cancel();
  /// Starts no job until resume(), and waits up to `patience` for those that run; true when none does. For measurements
  /// that no compiler may disturb.
  bool pause(std::chrono::milliseconds patience);
  void resume();
  /// Waiting and running.
  [[nodiscard]] std::size_t unfinished() const;
  [[nodiscard]] int workers() const noexcept { return static_cast<int>(threads_.size()); }

 private:
  enum class State { waiting, running, done };
  struct Job {
    State state = State::waiting;
    std::function<CompileRequest()> request;
    Finished finished;
  };
  void work(int worker);
  Finished hand_out(std::map<std::string, Job>::iterator job);

  Compiler& compiler_;
  mutable std::mutex mutex_;
  std::condition_variable submitted_;
  std::condition_variable changed_;
  std::map<std::string, Job> jobs_;
  std::deque<std::string> waiting_;
  std::deque<std::string> done_;
  bool stopping_ = false;
  bool paused_ = false;
  int running_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace tilewright
