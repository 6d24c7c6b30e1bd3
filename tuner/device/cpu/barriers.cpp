// SPDX-License-Identifier: Apache-2.0
// Warp functions, block barriers and cluster barriers. All wait only for living threads, so an exit may end a wait.
#include <bit>
#include <utility>

#include "tuner/device/cpu/scheduling.hpp"

namespace tilewright::emulator {

void Execution::meet(unsigned mask, void* payload, Combine combine, Site site) noexcept {
  Execution& here = running();
  Fiber& self = here.current();
  Warp& warp = *self.warp;
  const unsigned me = 1u << self.lane;
  const auto refuse = [&](const char* why) { here.fail(Fault::kBadMask, nullptr, why, site); };
  if ((mask & me) == 0) refuse("a warp function was called by a lane that its mask lacks");
  self.payload = payload;
  unsigned i = 0;
  while (i < warp.meetings && warp.meeting[i].mask != mask) ++i;
  if (i == warp.meetings) {
    if (i == kMeetings) refuse("the lanes of one warp wait in more than 16 masks");
    warp.meeting[i] = {mask, 0, combine};
    ++warp.meetings;
  } else if (warp.meeting[i].combine != combine) {
    refuse("lanes with the same mask met in different warp functions");
  }
  warp.meeting[i].arrived |= me;
  if ((mask & warp.living & ~warp.meeting[i].arrived) == 0) {
    end_meeting(warp, i);
    warp.runnable &= ~me;  // the last to arrive just goes on
  } else {
    here.wait(self, Waiting::warp, nullptr, mask, site);
  }
}

void Execution::end_meeting(Warp& warp, unsigned index) noexcept {
  const Meeting meeting = warp.meeting[index];
  void* payloads[kWarpLanes] = {};
  for (unsigned left = meeting.arrived; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(left));
    payloads[lane] = warp.lanes[lane]->payload;
  }
  warp.meeting[index] = warp.meeting[--warp.meetings];
  meeting.combine(payloads, meeting.arrived);
  warp.runnable |= meeting.arrived;
}

unsigned Execution::barrier(BarrierOp operation, unsigned id, unsigned count, int predicate, Site site) noexcept {
  Execution& here = running();
  Fiber& self = here.current();
  Block& block = *self.owner;
  if (id >= kBarriers) here.fail(Fault::kBadBarrier, nullptr, "barriers are numbered 0 to 15", site);
  if (count % kWarpLanes != 0) {
    here.fail(Fault::kBadBarrier, nullptr, "a barrier's thread count must be a multiple of 32", site);
  }
  BlockBarrier& barrier = block.barriers[id];
  if (barrier.arrived == 0) {
    block.open_barriers |= 1u << id;
    barrier = {0, count, operation, 0, site};
  } else if (barrier.count != count) {
    here.fail(Fault::kBadBarrier, nullptr, "threads met at one barrier with different thread counts", site);
  } else if (count == 0 && (barrier.site.line != site.line || barrier.operation != operation)) {
    here.fail(Fault::kBadBarrier, nullptr, "threads of one block met at two different __syncthreads()", site);
  }
  ++barrier.arrived;
  barrier.predicates += predicate != 0 ? 1 : 0;
  const bool waits = operation != BarrierOp::kArrive;
  if (waits) self.warp->at_barrier[id] |= 1u << self.lane;
  here.end_barrier_if_complete(block, id);
  if (waits) here.wait(self, Waiting::barrier, nullptr, id, site);
  return self.result;
}

void Execution::end_barrier_if_complete(Block& block, unsigned id) noexcept {
  BlockBarrier& barrier = block.barriers[id];
  if (barrier.arrived == 0 || barrier.arrived < (barrier.count == 0 ? block.living : barrier.count)) return;
  const unsigned result = barrier.operation == BarrierOp::kCount ? barrier.predicates
                          : barrier.operation == BarrierOp::kAnd ? barrier.predicates == barrier.arrived
                                                                 : barrier.predicates != 0;
  for (unsigned i = 0; i < block.warp_count; ++i) {
    Warp& warp = block.warps[i];
    const unsigned released = std::exchange(warp.at_barrier[id], 0);
    wake_later(warp, released);
    if (barrier.operation == BarrierOp::kSync) continue;
    for (unsigned left = released; left != 0; left &= left - 1) {
      warp.lanes[static_cast<std::size_t>(std::countr_zero(left))]->result = result;
    }
  }
  barrier.arrived = 0;
  block.open_barriers &= ~(1u << id);
}

void Execution::cluster_arrive(Fiber& self, Site site) noexcept {
  if (self.cluster_arrived) fail(Fault::kBadBarrier, nullptr, "a second cluster arrive with no wait between", site);
  self.cluster_arrived = true;
  self.cluster_phase = cluster_phase_;
  ++cluster_arrived_;
  end_cluster_barrier_if_complete();
}

void Execution::cluster_wait(Fiber& self, Site site) noexcept {
  if (!self.cluster_arrived) fail(Fault::kBadBarrier, nullptr, "a cluster wait with no arrive before", site);
  if (self.cluster_phase == cluster_phase_) {
    self.warp->at_cluster_barrier |= 1u << self.lane;
    wait(self, Waiting::cluster, nullptr, 0, site);
  }
  self.cluster_arrived = false;
}

void Execution::end_cluster_barrier_if_complete() noexcept {
  if (cluster_arrived_ == 0 || cluster_arrived_ < living_) return;
  cluster_arrived_ = 0;
  ++cluster_phase_;
  for (Warp& warp : warps_) wake_later(warp, std::exchange(warp.at_cluster_barrier, 0));
}

void* Execution::map_shared(const void* address, unsigned rank, Site site) noexcept {
  const Block& own = *current().owner;
  const auto* byte = static_cast<const unsigned char*>(address);
  if (rank >= blocks_.size()) fail(Fault::kBadBarrier, address, "no block of the cluster has this rank", site);
  if (byte < own.shared || byte >= own.shared + own.shared_bytes) {
    fail(Fault::kUnsupported, address, "only dynamic shared memory can be reached from another block", site);
  }
  return blocks_[rank].shared + (byte - own.shared);
}

}  // namespace tilewright::emulator
