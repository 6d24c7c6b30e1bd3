// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cache/driver/driver_table.hpp"
#include "tests/launch/recording_driver/recording.h"

/// The recording driver's state, behind one lock. Only its own files include this.
namespace recording {

using tilewright::cuda::Address;
using tilewright::cuda::Context;
using tilewright::cuda::Event;
using tilewright::cuda::Function;
using tilewright::cuda::Graph;
using tilewright::cuda::GraphExec;
using tilewright::cuda::Kernel;
using tilewright::cuda::Library;
using tilewright::cuda::Result;
using tilewright::cuda::Stream;
using tilewright::cuda::UserObject;

enum : Result {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  invalid_handle = 400,
  not_found = 500,
  stream_capture_unsupported = 900,
  stream_capture_invalidated = 901,
  invalid_cluster_size = 912,
  unknown_error = 999,
};

struct Device {
  std::string name = "Fictional GPU";
  int compute_capability = 90;
  int sm_count = 132;
};

struct KernelRecord {
  std::string symbol;
  bool sizes_known = true;
  std::vector<unsigned> param_sizes;
};

struct LibraryRecord {
  /// Reported when a kernel is requested, as by the driver, which loads lazily.
  bool rejected = false;
  bool any_symbol = false;
  std::map<std::string, std::unique_ptr<KernelRecord>> kernels;
};

/// A kernel in one context, with its attributes.
struct FunctionRecord {
  KernelRecord* kernel = nullptr;
  unsigned long long context = 0;
  int shared_limit = 48 * 1024;
  bool nonportable_cluster = false;
};

struct ContextRecord {
  unsigned long long id = 0;
  int device = 0;
  int retained = 0;
  bool destroyed = false;
};

/// A graph or an instance of one.
struct GraphRecord {
  std::vector<std::function<void()>> work;
  /// Each is destroyed with the last graph that holds it.
  std::vector<std::shared_ptr<void>> user_objects;
};

struct StreamRecord {
  unsigned long long id = 0;
  unsigned long long capture_id = 0;
  std::unique_ptr<GraphRecord> captured;
};

struct EventRecord {
  long long nanoseconds = -1;
};

struct AllocationRecord {
  std::size_t bytes = 0;
  /// Id of its context, with which it ends.
  unsigned long long context = 0;
};

struct Failure {
  Result status;
  int skip;
  int times;
};

/// A mutex that shows whether it is locked.
class Mutex {
 public:
  void lock() {
    mutex_.lock();
    is_held_ = true;
  }
  void unlock() {
    is_held_ = false;
    mutex_.unlock();
  }
  [[nodiscard]] bool is_held() const { return is_held_; }

 private:
  std::mutex mutex_;
  std::atomic<bool> is_held_{false};
};

struct State {
  State();

  Mutex mutex;
  std::vector<Device> devices;
  bool initialized = false;
  std::deque<ContextRecord> contexts;
  std::map<int, ContextRecord*> primary;
  std::map<Address, AllocationRecord> allocations;
  /// Addresses of ended contexts, with their sizes in bytes; new allocations reuse them.
  std::map<Address, std::size_t> ended;
  std::set<StreamRecord*> streams;
  std::set<LibraryRecord*> libraries;
  std::map<std::pair<KernelRecord*, unsigned long long>, std::unique_ptr<FunctionRecord>> functions;
  std::deque<recording_launch_record> launches;
  std::map<std::string, Failure> failures;
  std::set<std::string> held;
  std::condition_variable_any released;
  std::map<std::string, std::size_t> calls;
  std::string log_file;
  unsigned long long throttle_reasons = 0;
  /// The last id of a stream or capture; 1 is the legacy default stream's.
  unsigned long long last_id = 1;
  /// The argument of recording_set_fast.
  std::atomic<int> fast{0};

  /// Counts a call and returns the status that a test has ordered for it, or 0.
  Result ordered(const char* api);
  /// The calling thread's context, or null. Needs the lock.
  ContextRecord* current();
  /// Ends the device's context, if it has one, with its memory. Needs the lock.
  void end_primary(int device);
};

/// Lives until the process ends.
State& state();

/// The handle of the default stream that each thread has of its own; 1 is the legacy one, as is 0.
constexpr std::uintptr_t per_thread_stream = 2;
/// Whether it is a default stream, which no test captures.
bool is_default(Stream stream);

/// Does `work` now, or adds it to the graph if the stream is being captured. Needs the lock.
Result enqueue(State& all, Stream stream, std::function<void()> work);

void set_current(ContextRecord* context);

}  // namespace recording

#define RECORDING_API extern "C" __attribute__((visibility("default")))
