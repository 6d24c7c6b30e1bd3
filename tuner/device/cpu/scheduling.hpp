// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "tuner/device/cpu/execution.hpp"

/// The code of a switch, inlined into each function that a thread can wait in. A switch invalidates the processor's
/// return address stack, so all later returns are mispredicted: with ordinary calls a switch takes three times as long.
namespace tilewright::emulator {

[[gnu::always_inline]] inline Execution& Execution::running() noexcept {
  const auto stack = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return *reinterpret_cast<WindowHeader*>(stack & ~(kWindowBytes - 1))->execution;
}

inline void Execution::wake_later(Warp& warp, unsigned lanes) noexcept {
  if (lanes == 0) return;
  if (warp.later == 0) warp.block->ready.push_back(&warp);
  warp.later |= lanes;
}

/// The next thread to run, taken from its warp's runnable lanes; null if none can run or time is up.
[[gnu::always_inline]] inline Fiber* Execution::pick() noexcept {
  if ((warp_ == nullptr || warp_->runnable == 0) && !begin_turn()) return nullptr;
  const int turn = static_cast<int>(random_.next() & 31);
  const int lane = (std::countr_zero(std::rotr(warp_->runnable, turn)) + turn) & 31;
  warp_->runnable &= ~(1u << lane);
  Fiber* next = warp_->lanes[static_cast<std::size_t>(lane)];
  if (--switches_until_clock_ == 0 && is_late(*next)) return nullptr;
  return next;
}

[[gnu::always_inline]] inline void Execution::enter(Fiber& next) noexcept {
  header_.current = &next;
  if (next.owner != static_owner_ && !static_shared_.empty()) give_static_shared(*next.owner);
}

/// Runs others until one makes the caller runnable and it is picked.
[[gnu::always_inline]] inline void Execution::leave(Fiber& self) noexcept {
  Fiber* next = pick();
  if (next == &self) return;
  if (next != nullptr) enter(*next);
  switch_context(self, next != nullptr ? static_cast<Context&>(*next) : launcher_);
}

[[gnu::always_inline]] inline void Execution::wait(Fiber& self, Waiting what, const void* object, unsigned number,
                                                   Site site) noexcept {
  self.waiting = what;
  self.waited_object = object;
  self.waited_number = number;
  self.site = site;
  leave(self);
}

}  // namespace tilewright::emulator
