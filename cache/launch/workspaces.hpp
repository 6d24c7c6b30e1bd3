// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>

#include "cache/driver/cuda.hpp"
#include "cache/launch/ready_plan.hpp"

/// Workspace of a launcher's streams. What was handed out is neither moved nor freed before this object, since a captured
/// graph may hold its address; a graph being captured has memory of its own, so that two of them may be launched at once.
/// Any thread may launch at any time; launches on one stream are enqueued one after the other, so that what one of them
/// keeps in its workspace between its kernels is not overwritten by another.
namespace tilewright::launch {

class Workspaces {
 public:
  /// Enqueues a plan that has workspaces. Returns a CUresult of the launch; throws DeviceError when memory cannot be had, and
  /// UsageError when the caller's own is too small. `context` is the id of the current one.
  int launch(const cuda::Driver& driver, std::uint64_t context, const ReadyPlan& plan, cuda::Stream stream,
             std::span<void* const> args);

  /// Uses the caller's memory on a stream from now on; an address of 0: memory of our own.
  void give(const cuda::Driver& driver, std::uint64_t context, cuda::Stream stream, cuda::Address address,
            std::size_t bytes);

 private:
  /// A stream's memory. Buffers are only added: the last of each kind is the largest and the one in use.
  struct Memory {
    std::mutex mutex;
    std::vector<cuda::Buffer> scratch;
    std::vector<cuda::Buffer> zeroed;
    cuda::Address given = 0;
    std::size_t given_bytes = 0;
  };
  /// Context, stream and capture (0: none), by the driver's ids, which are not used twice.
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
  using Addresses = std::array<cuda::Address, ReadyPlan::kMostWorkspaces>;

  Memory& memory_of(const cuda::Driver& driver, std::uint64_t context, cuda::Stream stream);
  static Addresses own_addresses(const cuda::Driver& driver, const ReadyPlan& plan, Memory& memory);
  static Addresses given_addresses(const cuda::Driver& driver, const ReadyPlan& plan, const Memory& memory,
                                   cuda::Stream stream);

  std::mutex mutex_;
  std::map<Key, std::unique_ptr<Memory>> memories_;
};

}  // namespace tilewright::launch
