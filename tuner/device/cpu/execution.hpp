// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/device/cpu/emulator.hpp"
#include "tuner/device/cpu/fiber.hpp"
#include "tuner/device/cpu/random.hpp"
#include "tuner/device/cpu/shared_memory.hpp"
#include "tuner/device/cpu/window.hpp"

/// One launch on one OS thread. A thread runs until it must wait; then another lane of its warp runs, or another warp
/// if none can. A lane released by a barrier, an mbarrier or a yield resumes at its warp's next turn. Lanes, warps and
/// blocks are drawn at random, and the same block mostly continues: some run far ahead, which exposes missing barriers.
/// Fibers switch directly to each other. Code on a fiber throws no exception: `fail` ends the launch.
namespace tilewright::emulator {

class Execution {
 public:
  Execution(Window& window, const EmulatorModule& module, const Entry& entry, const EmulatedLaunch& launch);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// The execution of the calling fiber.
  [[nodiscard]] static Execution& running() noexcept;
  /// The entry function of all fibers.
  static void fiber_main(boost::context::detail::transfer_t transfer) noexcept;

  /// Runs all blocks. If the outcome is not ok, the window's fibers must be reset.
  [[nodiscard]] EmulatedOutcome run();

  // For the runtime functions, on a fiber:

  [[nodiscard]] Fiber& current() noexcept { return static_cast<Fiber&>(*header_.current); }
  /// Runs others until one makes the caller runnable. The other arguments say in reports what it waits for, and where.
  void wait(Fiber& self, Waiting what, const void* object, unsigned number, Site site) noexcept;
  /// Lets others run once.
  void yield(Fiber& self) noexcept;
  /// Ends the launch.
  [[noreturn]] void fail(Fault fault, const volatile void* address, const char* what, Site site) noexcept;

  static void meet(unsigned mask, void* payload, Combine combine, Site site) noexcept;
  static unsigned barrier(BarrierOp operation, unsigned id, unsigned count, int predicate, Site site) noexcept;
  void cluster_arrive(Fiber& self, Site site) noexcept;
  void cluster_wait(Fiber& self, Site site) noexcept;
  [[nodiscard]] void* map_shared(const void* address, unsigned rank, Site site) noexcept;

  /// mbarriers (mbarriers.cpp).
  void mbarrier_init(std::uint64_t& word, unsigned count, Site site) noexcept;
  void mbarrier_invalidate(std::uint64_t& word, Site site) noexcept;
  void mbarrier_arrive(std::uint64_t& word, unsigned count, Site site) noexcept;
  void mbarrier_expect(std::uint64_t& word, unsigned bytes, Site site) noexcept;
  [[nodiscard]] bool mbarrier_wait(Fiber& self, std::uint64_t& word, unsigned parity, bool blocking,
                                   Site site) noexcept;
  /// Starts a copy that lands when a wait checks `word`. With `is_value`, reads `from` now.
  void start_copy(void* to, const void* from, unsigned bytes, std::uint64_t& word, bool is_value, Site site) noexcept;

 private:
  struct BarrierCopy {
    std::uint64_t* word;
    void* to;
    const void* from;
    unsigned bytes;
    std::uint64_t value;  // the value of st.async
    bool is_value;
  };

  [[nodiscard]] EmulatedOutcome run_cluster(std::uint64_t cluster);
  void prepare_cluster(std::uint64_t cluster);
  void finish(Fiber& self) noexcept;

  // Scheduling.
  [[nodiscard]] Fiber* pick() noexcept;
  [[nodiscard]] bool begin_turn() noexcept;
  [[nodiscard]] bool is_late(Fiber& next) noexcept;
  void leave(Fiber& self) noexcept;
  void enter(Fiber& next) noexcept;
  void give_static_shared(Block& to) noexcept;
  static void wake_later(Warp& warp, unsigned lanes) noexcept;

  // Completion.
  static void end_meeting(Warp& warp, unsigned index) noexcept;
  void end_barrier_if_complete(Block& block, unsigned id) noexcept;
  void end_cluster_barrier_if_complete() noexcept;
  void check_mbarrier(const std::uint64_t& word, Site site) noexcept;
  void land_copies(std::uint64_t& word, Site site) noexcept;
  void settle_mbarrier(std::uint64_t& word) noexcept;
  void wake_mbarrier_waiters(const std::uint64_t& word) noexcept;

  // Reports (report.cpp).
  [[nodiscard]] EmulatedOutcome describe_failure() const;
  [[nodiscard]] EmulatedOutcome describe_deadlock() const;
  [[nodiscard]] EmulatedOutcome describe_overrun(const Block& block, std::size_t byte) const;
  [[nodiscard]] std::string describe_waiting() const;
  [[nodiscard]] std::string where(const Block& block) const;

  WindowHeader& header_;
  const EmulatorModule& module_;
  const Entry& entry_;
  const EmulatedLaunch& launch_;
  LaunchView view_;
  Random random_;
  Context launcher_;

  std::vector<Block> blocks_;  // of one cluster
  std::vector<Warp> warps_;
  SharedMemory shared_;
  Warp* warp_ = nullptr;  // the warp whose turn it is
  Block* block_ = nullptr;

  unsigned living_ = 0;
  unsigned cluster_arrived_ = 0;
  unsigned cluster_phase_ = 0;
  std::vector<BarrierCopy> barrier_copies_;
  std::vector<Fiber*> mbarrier_waiters_;
  std::span<std::byte> static_shared_;
  Block* static_owner_ = nullptr;

  std::uint32_t switches_until_clock_ = kSwitchesPerClock;
  std::chrono::steady_clock::time_point deadline_;
  std::optional<Failure> failure_;

  static constexpr std::uint32_t kSwitchesPerClock = 1 << 14;
};

}  // namespace tilewright::emulator
