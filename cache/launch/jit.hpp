// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cache/driver/shared_library.hpp"
#include "cache/launch/jit_abi.hpp"
#include "cache/model/records.hpp"

namespace tilewright::launch {

/// Compiles configs on a thread of its own through libtilewright-jit.so, one after the other, in the order submitted.
class Jit {
 public:
  struct Job {
    std::string problem;
    std::string config;
    std::string interface_hash;
    std::string implementation_hash;
    /// JSON of cache/model/device_facts.hpp.
    std::string device;
  };
  struct Compiled {
    std::vector<std::byte> binary;
    std::vector<KernelFacts> kernels;
  };
  /// Receives a job's result on this object's thread: the binary, or null and the reason. Must not throw.
  using Done = std::function<void(Compiled* compiled, const std::string& why)>;

  /// Opens TILEWRIGHT_LIBJIT, else the library beside this code's file, else the loader's. `ops`: as tw_options.ops.
  /// Throws UsageError if it cannot be opened or has another version.
  explicit Jit(std::string ops);
  /// Waits for the running compile; jobs not yet begun are dropped.
  ~Jit();
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  /// From any thread. False if too many jobs wait or this object is ending: the job is not taken.
  bool submit(Job job, Done done);
  /// Waits until no job waits or runs.
  void drain();

 private:
  struct Task {
    Job job;
    Done done;
  };
  void work();
  void compile(const Task& task) const;

  std::string ops_;
  SharedLibrary library_;
  jit::CompileFunction* compile_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool is_busy_ = false;
  bool is_ended_ = false;
  std::thread thread_;
};

}  // namespace tilewright::launch
