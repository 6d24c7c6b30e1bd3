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

/// Compiles on a thread of its own, through libtilewright-jit.so; one config after the other, in the order asked.
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
  /// Told on the thread of this object what became of a job: the binary, or why there is none. Must not throw.
  using Done = std::function<void(Compiled* compiled, const std::string& why)>;

  /// Opens TILEWRIGHT_LIBJIT, else the library beside the one that this code is in. `ops`: as tw_options.ops. Throws
  /// UsageError when it is not there or is of another version.
  explicit Jit(std::string ops);
  /// Waits for the compile in progress; what has not begun is dropped.
  ~Jit();
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  /// From any thread. False when so many wait that this one is not taken, or when this object is ending.
  bool submit(Job job, Done done);
  /// Returns when nothing waits and nothing is being compiled.
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
