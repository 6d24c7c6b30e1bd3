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

/// Compiles on several threads, each key once. Jobs start in the order submitted and are returned in the order
/// finished. Any thread may call any method. The destructor drops waiting jobs and joins running ones.
namespace tilewright {

class CompilePool {
 public:
  /// If `workers` is 0, one per core. `compiler` must outlive the pool.
  CompilePool(Compiler& compiler, int workers);
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;
  ~CompilePool();

  /// A finished job. If the compiler threw, `error` holds the exception and `result` is empty.
  struct Finished {
    std::string key;
    CompileResult result;
    std::exception_ptr error;
    /// The pool's worker, from 0, and the start time (tuner/process/moment.hpp).
    int worker = 0;
    std::int64_t began_us = 0;
  };

  /// The worker's thread makes the request and compiles it, so the sources of thousands of queued jobs need not be in
  /// memory. Returns false and queues nothing if a job with this key is waiting, running, or finished but not taken.
  bool submit(const std::string& key, std::function<CompileRequest()> request);
  bool submit(const std::string& key, CompileRequest request);

  /// Takes the job that finished first, waiting up to `patience`. Nullopt if no job is left or `patience` ends.
  [[nodiscard]] std::optional<Finished> next(std::chrono::milliseconds patience = std::chrono::hours(24));
  /// Waits for the job `key` and takes it. Nullopt if there is no such job, or if it is cancelled or taken meanwhile.
  [[nodiscard]] std::optional<Finished> take(const std::string& key);

  /// Moves a waiting job to the front of the queue.
  void hurry(const std::string& key);
  /// Drops all jobs that have not started and returns their number. Running jobs finish and can be taken.
  std::size_t cancel();
  /// Starts no job until resume(), and waits up to `patience` for running ones. Returns whether none is running. For
  /// measurements that no compiler may disturb.
  bool pause(std::chrono::milliseconds patience);
  void resume();
  /// The number of waiting and running jobs.
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
