// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/emulator/abi.h"
#include "tuner/device/cpu/async_copies.hpp"
#include "tuner/device/cpu/context.hpp"

/// Threads, warps and blocks of the scheduler. Plain data for execution.hpp.
namespace tilewright::emulator {

struct Warp;
struct Block;

/// What a stopped thread waits for. `waited_number` and `waited_object` say which one.
enum class Waiting : std::uint8_t { nothing, warp, barrier, mbarrier, cluster };

/// Fields that a switch touches come first: they fit one cache line with the view and the context.
struct alignas(64) Fiber : ThreadView, Context {
  Warp* warp = nullptr;
  void* payload = nullptr;
  Block* owner = nullptr;
  Site site{nullptr, 0};
  const void* waited_object = nullptr;
  unsigned waited_number = 0;
  /// Remains when the wait ends; valid only for threads that cannot run.
  Waiting waiting = Waiting::nothing;
  bool cluster_arrived = false;
  unsigned cluster_phase = 0;  // at the arrival
  unsigned number = 0;         // linear index in the block
  unsigned result = 0;         // of a barrier that counts or votes
  /// Created on the thread's first asynchronous copy.
  std::unique_ptr<AsyncCopies> copies;
};

/// A warp function that some lanes have reached.
struct Meeting {
  unsigned mask = 0;
  unsigned arrived = 0;
  Combine combine = nullptr;
};

inline constexpr unsigned kBarriers = 16;
/// The most meetings of disjoint masks with at least two lanes.
inline constexpr unsigned kMeetings = 16;

/// Lane sets are bit masks.
struct Warp {
  std::array<Fiber*, kWarpLanes> lanes{};
  Block* block = nullptr;
  unsigned living = 0;
  /// Lanes that can run in this warp's current turn, and those that can from its next turn on.
  unsigned runnable = 0;
  unsigned later = 0;
  unsigned meetings = 0;
  std::array<Meeting, kMeetings> meeting{};
  std::array<unsigned, kBarriers> at_barrier{};
  unsigned at_cluster_barrier = 0;
};

struct BlockBarrier {
  unsigned arrived = 0;
  /// As requested; 0 means all living threads.
  unsigned count = 0;
  BarrierOp operation = BarrierOp::kSync;
  unsigned predicates = 0;
  Site site{nullptr, 0};
};

struct Block : BlockView {
  unsigned threads = 0;
  unsigned living = 0;
  /// The block's warps among the launch's.
  Warp* warps = nullptr;
  unsigned warp_count = 0;
  /// Warps with lanes that wait for a turn.
  std::vector<Warp*> ready;
  std::array<BlockBarrier, kBarriers> barriers{};
  unsigned open_barriers = 0;  // reached by some thread
  /// This block's static shared memory while another block of the cluster uses the thread-local copy.
  std::vector<std::byte> saved_static;
};

/// Why a launch ended early.
struct Failure {
  Fault fault = Fault::kTrap;
  bool timed_out = false;
  const volatile void* address = nullptr;
  const char* what = nullptr;
  Site site{nullptr, 0};
  const Fiber* thread = nullptr;
};

}  // namespace tilewright::emulator
