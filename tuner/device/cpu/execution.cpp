// SPDX-License-Identifier: Apache-2.0
#include "tuner/device/cpu/scheduling.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

namespace tilewright::emulator {
namespace {

constexpr unsigned kAtomicsPerTurn = 256;

unsigned volume(const Index3& extent) { return extent.x * extent.y * extent.z; }

Index3 unflatten(std::uint64_t index, const Index3& extent) {
  return {static_cast<unsigned>(index % extent.x), static_cast<unsigned>(index / extent.x % extent.y),
          static_cast<unsigned>(index / extent.x / extent.y)};
}

Index3 to_index(const std::array<unsigned, 3>& extent) { return {extent[0], extent[1], extent[2]}; }

}  // namespace

Execution::Execution(Window& window, const EmulatorModule& module, const Entry& entry, const EmulatedLaunch& launch)
    : header_(window.header()),
      module_(module),
      entry_(entry),
      launch_(launch),
      view_{to_index(launch.grid), to_index(launch.block), to_index(launch.cluster)},
      random_(launch.seed),
      shared_(volume(view_.cluster), launch.shared_bytes),
      deadline_(std::chrono::steady_clock::now() + launch.time_limit) {
  const unsigned threads = volume(view_.block);
  const unsigned warps = (threads + kWarpLanes - 1) / kWarpLanes;
  blocks_.resize(volume(view_.cluster));
  warps_.resize(blocks_.size() * warps);

  auto fiber = window.fibers(blocks_.size() * threads).begin();
  for (unsigned rank = 0; rank < blocks_.size(); ++rank) {
    Block& block = blocks_[rank];
    block.rank = rank;
    block.index_in_cluster = unflatten(rank, view_.cluster);
    block.shared = reinterpret_cast<unsigned char*>(shared_.block(rank));
    block.shared_bytes = launch.shared_bytes;
    block.threads = threads;
    block.warps = &warps_[rank * warps];
    block.warp_count = warps;
    block.ready.reserve(warps);
    for (unsigned number = 0; number < threads; ++number, ++fiber) {
      Warp& warp = block.warps[number / kWarpLanes];
      fiber->index = unflatten(number, view_.block);
      fiber->lane = number % kWarpLanes;
      fiber->block = &block;
      fiber->launch = &view_;
      fiber->warp = &warp;
      fiber->owner = &block;
      fiber->number = number;
      warp.block = &block;
      warp.lanes[fiber->lane] = &*fiber;
    }
  }
}

// --- The launcher's side.

EmulatedOutcome Execution::run() {
  header_.execution = this;
  static_shared_ = module_.static_shared();
  const std::uint64_t clusters = std::uint64_t{view_.grid.x} * view_.grid.y * view_.grid.z / blocks_.size();
  // Visits each cluster once in a pseudo-random order, by a step coprime to their number.
  const std::uint64_t start = random_.next() % clusters;
  std::uint64_t step = clusters > 2 ? 1 + random_.next() % (clusters - 1) : 1;
  while (std::gcd(step, clusters) != 1) ++step;
  for (std::uint64_t i = 0, cluster = start; i < clusters; ++i, cluster = (cluster + step) % clusters) {
    EmulatedOutcome outcome = run_cluster(cluster);
    if (!outcome.ok()) return outcome;
  }
  return {};
}

void Execution::prepare_cluster(std::uint64_t cluster) {
  const Index3 clusters{view_.grid.x / view_.cluster.x, view_.grid.y / view_.cluster.y, view_.grid.z / view_.cluster.z};
  const Index3 first = unflatten(cluster, clusters);
  for (Block& block : blocks_) {
    block.index = {first.x * view_.cluster.x + block.index_in_cluster.x,
                   first.y * view_.cluster.y + block.index_in_cluster.y,
                   first.z * view_.cluster.z + block.index_in_cluster.z};
    block.living = block.threads;
    block.barriers.fill({});
    block.open_barriers = 0;
    block.ready.clear();
    if (blocks_.size() > 1) block.saved_static.assign(static_shared_.size(), std::byte{kPoison});
    for (unsigned number = 0; number < block.threads; ++number) {
      Fiber& fiber = *block.warps[number / kWarpLanes].lanes[number % kWarpLanes];
      fiber.credit = kAtomicsPerTurn;
      fiber.waiting = Waiting::nothing;
      fiber.cluster_arrived = false;
    }
    for (unsigned i = 0; i < block.warp_count; ++i) {
      Warp& warp = block.warps[i];
      const unsigned lanes = std::min<unsigned>(kWarpLanes, block.threads - i * kWarpLanes);
      warp.living = lanes == kWarpLanes ? ~0u : (1u << lanes) - 1;
      warp.runnable = 0;
      warp.later = 0;
      wake_later(warp, warp.living);
      warp.meetings = 0;
      warp.at_barrier.fill(0);
      warp.at_cluster_barrier = 0;
    }
  }
  shared_.poison();
  if (!static_shared_.empty()) std::memset(static_shared_.data(), kPoison, static_shared_.size());
  static_owner_ = &blocks_.front();
  living_ = static_cast<unsigned>(blocks_.size()) * blocks_.front().threads;
  cluster_arrived_ = 0;
  barrier_copies_.clear();
  mbarrier_waiters_.clear();
  warp_ = nullptr;
  block_ = &blocks_.front();
}

EmulatedOutcome Execution::run_cluster(std::uint64_t cluster) {
  prepare_cluster(cluster);
  Fiber* first = pick();
  if (first != nullptr) {
    enter(*first);
    switch_context(launcher_, *first);
  }
  if (failure_) return describe_failure();
  if (living_ > 0) return describe_deadlock();
  for (const Block& block : blocks_) {
    if (const auto byte = shared_.overrun(block.rank)) return describe_overrun(block, *byte);
  }
  return {};
}

// --- The fibers' side.

void Execution::fiber_main(boost::context::detail::transfer_t transfer) noexcept {
  Fiber& self = running().current();
  arrived(self, transfer);
  // Each turn of this loop is one thread of one block, possibly of a later launch.
  for (;;) {
    Execution& execution = running();
    execution.entry_.invoke(execution.launch_.params);
    execution.finish(self);
  }
}

void Execution::finish(Fiber& self) noexcept {
  Warp& warp = *self.warp;
  Block& block = *self.owner;
  warp.living &= ~(1u << self.lane);
  --block.living;
  --living_;
  if (self.cluster_arrived && self.cluster_phase == cluster_phase_) --cluster_arrived_;
  if (self.copies != nullptr) {
    self.copies->small.finish();
    self.copies->bulk.finish();
  }
  // Waits for all living threads no longer include this one.
  for (unsigned i = warp.meetings; i-- > 0;) {
    if ((warp.meeting[i].mask & warp.living & ~warp.meeting[i].arrived) == 0) end_meeting(warp, i);
  }
  for (unsigned open = block.open_barriers; open != 0; open &= open - 1) {
    end_barrier_if_complete(block, static_cast<unsigned>(std::countr_zero(open)));
  }
  end_cluster_barrier_if_complete();
  // A block's distributed shared memory ends with it; the cluster's other blocks must not read it any more.
  if (block.living == 0 && blocks_.size() > 1) shared_.poison(block.rank);
  leave(self);
}

bool Execution::is_late(Fiber& next) noexcept {
  switches_until_clock_ = kSwitchesPerClock;
  if (std::chrono::steady_clock::now() <= deadline_) return false;
  failure_ = Failure{.timed_out = true, .thread = &next};
  return true;
}

bool Execution::begin_turn() noexcept {
  // Three times out of four the same block continues, if it can.
  if (blocks_.size() > 1 && (block_->ready.empty() || random_.below(4) == 0)) {
    const auto count = static_cast<std::uint32_t>(blocks_.size());
    const std::uint32_t first = random_.below(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      Block& block = blocks_[(first + i) % count];
      if (block.ready.empty()) continue;
      block_ = &block;
      break;
    }
  }
  std::vector<Warp*>& ready = block_->ready;
  if (ready.empty()) return false;
  std::swap(ready[random_.below(static_cast<std::uint32_t>(ready.size()))], ready.back());
  warp_ = ready.back();
  ready.pop_back();
  warp_->runnable = std::exchange(warp_->later, 0);
  return true;
}

void Execution::give_static_shared(Block& to) noexcept {
  std::memcpy(static_owner_->saved_static.data(), static_shared_.data(), static_shared_.size());
  std::memcpy(static_shared_.data(), to.saved_static.data(), static_shared_.size());
  static_owner_ = &to;
}

void Execution::yield(Fiber& self) noexcept {
  self.credit = kAtomicsPerTurn;
  wake_later(*self.warp, 1u << self.lane);
  leave(self);
}

void Execution::fail(Fault fault, const volatile void* address, const char* what, Site site) noexcept {
  Fiber& self = current();
  failure_ = Failure{.fault = fault, .address = address, .what = what, .site = site, .thread = &self};
  switch_context(self, launcher_);
  std::abort();  // a failed launch's fibers are never resumed
}

}  // namespace tilewright::emulator
