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

/// Workspace of a launcher's streams. Memory once handed out is neither moved nor freed before this object, since a
/// captured graph may hold its address; a graph being captured has memory of its own, so that two of them may be
/// launched at once, and once the graph is gone, the next one has that. Memory that kernels find and leave zero is
/// shared by all plans of a stream. A launch takes a lock to find its stream's memory, and the memory's own while it
/// enqueues. Any thread may launch at any time; launches on one stream are enqueued one after the other, so that what
/// one of them keeps in its workspace between its kernels is not overwritten by another.
namespace tilewright::launch {

class Workspaces {
 public:
  Workspaces() = default;
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;
  /// Frees the memory of the current context. That of others ends with them, or has: a context may be gone, and its
  /// addresses be another's.
  ~Workspaces();

  /// Enqueues a plan that has workspaces. Returns a CUresult of the launch; throws DeviceError when memory cannot be
  /// had, and UsageError when the caller's own is too small. `context` is the id of the current one; `dims` as in
  /// Executable::launch.
  [[gnu::hot]] int launch(const cuda::Driver& driver, std::uint64_t context, const ReadyPlan& plan, cuda::Stream stream,
                          std::span<void* const> args, std::span<const std::int64_t> dims);

  /// Sees to it that the next stream or graph of the context that needs memory finds as much as a plan needs. Throws
  /// DeviceError when it cannot be had.
  void reserve(const cuda::Driver& driver, std::uint64_t context, const ReadyPlan& plan);

  /// Uses the caller's memory on a stream from now on; an address of 0: memory of our own.
  void give(std::uint64_t context, cuda::Stream stream, cuda::Address address, std::size_t bytes);

 private:
  /// A stream's memory. Buffers are only added: the last of each kind is the largest and the one in use.
  struct Memory {
    std::mutex mutex;
    std::vector<cuda::Buffer> scratch;
    std::vector<cuda::Buffer> zeroed;
    /// A launch failed between its kernels: what a later one would have made zero again may not be.
    bool zeros_are_spoilt = false;
    /// The zeros were mended by a clearing in a stream. A graph that holds the clearing and is never launched has
    /// cleared nothing.
    bool cleared_in_stream = false;
    /// The caller's; 0: none, or no longer. Looked at without the lock to choose a memory.
    std::atomic<cuda::Address> given = 0;
    std::size_t given_bytes = 0;
    /// The flag of the graph that holds its addresses; null: it is no graph's, or that is not known.
    cuda::GraphGone graph_gone;
  };
  enum class Owner : std::uint8_t {
    stream,   ///< told apart by the driver's id, which is not used twice, as handles are
    capture,  ///< by the capture's id and the stream's handle, which does not change while it is captured
    caller,   ///< by the stream's handle
  };
  /// Owner, context's id, and the two that tell apart.
  using Key = std::tuple<Owner, std::uint64_t, std::uint64_t, std::uint64_t>;
  using Addresses = std::array<cuda::Address, kMostWorkspaces>;

  [[gnu::hot]] Memory& memory_of(const cuda::Driver& driver, std::uint64_t context, cuda::Stream stream);
  /// Allocates and clears what a plan needs beyond what there is.
  static void provide(const cuda::Driver& driver, const ReadyPlan& plan, Memory& memory);
  [[gnu::hot]] static Addresses own_addresses(const cuda::Driver& driver, const ReadyPlan& plan, Memory& memory,
                                              cuda::Stream stream);
  [[gnu::hot]] static Addresses given_addresses(const cuda::Driver& driver, const ReadyPlan& plan, const Memory& memory,
                                                cuda::Stream stream);

  [[gnu::hot]] Memory& memory_at(const Key& key);
  /// The memory of a graph that is being captured.
  Memory& memory_of_capture(const cuda::Driver& driver, const Key& key, cuda::Graph graph);
  /// A reserved memory, else that of a graph of the context which is gone; null: neither. With the lock.
  std::unique_ptr<Memory> take_unused(std::uint64_t context);

  std::mutex mutex_;
  std::map<Key, std::unique_ptr<Memory>> memories_;
  /// Reserved and not yet taken, by context.
  std::map<std::uint64_t, std::unique_ptr<Memory>> spares_;
  /// Held while reserving, so that there is one spare a context.
  std::mutex reserving_;
};

}  // namespace tilewright::launch
