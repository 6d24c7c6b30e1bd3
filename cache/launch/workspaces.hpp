// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>

#include "cache/base/limits.hpp"
#include "cache/driver/cuda.hpp"
#include "cache/driver/stream.hpp"
#include "cache/launch/ready_plan.hpp"

/// Workspaces of a launcher's streams. Memory handed out is neither moved nor freed before this object, since a
/// captured graph may hold its address. A graph under capture gets memory of its own, so that two graphs may run at
/// once; once a graph is gone, the next one gets its memory. Plans of a stream share the memory that kernels find and
/// leave zero. A launch takes a lock to find its stream's memory, and the memory's lock while it enqueues. Any thread
/// may launch at any time. Launches on one stream are enqueued one after the other, so that none overwrites workspace
/// between another's kernels.
namespace tilewright::launch {

class Workspaces {
 public:
  Workspaces() = default;
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;
  /// Frees the memory of the current context. Memory of other contexts ends with them: their addresses may be in use
  /// again.
  ~Workspaces();

  /// Enqueues a plan with workspaces. Returns the launch's CUresult. Throws DeviceError if memory cannot be allocated,
  /// and UsageError if the caller's own is too small. `context` is the current context's id; `dims` as in
  /// Executable::launch.
  [[gnu::hot]] int launch(const cuda::Driver& driver, std::uint64_t context, const ReadyPlan& plan, cuda::Stream stream,
                          std::span<void* const> args, std::span<const std::int64_t> dims);

  /// Reserves memory for a plan, for the context's next stream or graph that needs some. Throws DeviceError if it
  /// cannot be allocated.
  void reserve(const cuda::Driver& driver, std::uint64_t context, const ReadyPlan& plan);

  /// Uses the caller's memory on a stream from now on; address 0: our own memory again.
  void give(std::uint64_t context, cuda::Stream stream, cuda::Address address, std::size_t bytes);

 private:
  /// A stream's memory. Buffers are only added: the last of each kind is the largest and the one in use.
  struct Memory {
    std::mutex mutex;
    std::vector<cuda::Buffer> scratch;
    std::vector<cuda::Buffer> zeroed;
    /// A launch failed between its kernels, so memory that should be zero may not be.
    bool zeros_are_spoilt = false;
    /// The zeros were restored by a clearing in a stream. If a graph captured the clearing and was not launched,
    /// nothing is cleared.
    bool cleared_in_stream = false;
    /// The caller's address; 0: none. Read without the lock to choose a memory.
    std::atomic<cuda::Address> given = 0;
    std::size_t given_bytes = 0;
    /// The flag of the graph that holds the addresses; null: no graph, or the driver cannot tell.
    cuda::GraphGone graph_gone;
  };
  enum class Owner : std::uint8_t {
    stream,   ///< by the driver's id, which is not used twice, as handles are
    capture,  ///< by the capture's id and the stream's handle, constant during the capture
    caller,   ///< by the stream's handle, and the thread where that is another stream in each
  };
  /// Owner, context id, and two numbers that identify it.
  using Key = std::tuple<Owner, std::uint64_t, std::uint64_t, std::uint64_t>;
  using Addresses = std::array<cuda::Address, kMostWorkspaces>;

  [[gnu::hot]] Memory& memory_of(const cuda::Driver& driver, std::uint64_t context, cuda::Stream stream);
  /// Allocates and clears the memory that a plan lacks.
  static void provide(const cuda::Driver& driver, const ReadyPlan& plan, Memory& memory);
  [[gnu::hot]] static Addresses own_addresses(const cuda::Driver& driver, const ReadyPlan& plan, Memory& memory,
                                              cuda::Stream stream);
  [[gnu::hot]] static Addresses given_addresses(const cuda::Driver& driver, const ReadyPlan& plan, const Memory& memory,
                                                cuda::Stream stream);

  [[gnu::hot]] static Key callers_key(std::uint64_t context, cuda::Stream stream);
  [[gnu::hot]] Memory& memory_at(const Key& key);
  /// The memory of a graph under capture.
  Memory& memory_of_capture(const cuda::Driver& driver, const Key& key, cuda::Graph graph);
  /// A reserved memory, else that of a graph that is gone, of this context; null if neither. The lock is held.
  std::unique_ptr<Memory> take_unused(std::uint64_t context);

  std::mutex mutex_;
  std::map<Key, std::unique_ptr<Memory>> memories_;
  /// Reserved memory that is not yet taken, by context.
  std::map<std::uint64_t, std::unique_ptr<Memory>> spares_;
  /// Held while reserving, so that a context has one spare.
  std::mutex reserving_;
};

}  // namespace tilewright::launch
