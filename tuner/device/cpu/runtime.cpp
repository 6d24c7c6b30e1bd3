// SPDX-License-Identifier: Apache-2.0
#include "tuner/device/cpu/runtime.hpp"

#include "tuner/device/cpu/scheduling.hpp"

namespace tilewright::emulator {
namespace {

Execution& execution() noexcept { return Execution::running(); }

AsyncCopies& copies() noexcept {
  Fiber& self = execution().current();
  if (self.copies == nullptr) self.copies = std::make_unique<AsyncCopies>();
  return *self.copies;
}

std::uint64_t& word_of(unsigned long long* barrier) noexcept { return *reinterpret_cast<std::uint64_t*>(barrier); }

/// Bulk copies move multiples of 16 bytes between addresses that are multiples of 16.
void check_bulk(const void* to, const void* from, unsigned bytes, Site site) noexcept {
  const auto misaligned = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 != 0; };
  if (misaligned(to)) execution().fail(Fault::kMisaligned, to, "a bulk copy's destination must be aligned to 16", site);
  if (misaligned(from)) execution().fail(Fault::kMisaligned, from, "a bulk copy's source must be aligned to 16", site);
  if (bytes == 0 || bytes % 16 != 0) {
    execution().fail(Fault::kMisaligned, from, "a bulk copy moves a positive multiple of 16 bytes", site);
  }
}

void yield() {
  Execution& here = execution();
  here.yield(here.current());
}
void fault(Fault kind, const volatile void* address, const char* what, Site site) {
  execution().fail(kind, address, what, site);
}

void copy_async(void* to, const void* from, unsigned bytes, unsigned source_bytes) {
  copies().small.start(to, from, bytes, source_bytes);
}
void copy_async_commit() { copies().small.commit(); }
void copy_async_wait(unsigned groups_left) { copies().small.wait(groups_left); }

void mbarrier_init(unsigned long long* barrier, unsigned count, Site site) {
  execution().mbarrier_init(word_of(barrier), count, site);
}
void mbarrier_invalidate(unsigned long long* barrier, Site site) {
  execution().mbarrier_invalidate(word_of(barrier), site);
}
void mbarrier_arrive(unsigned long long* barrier, unsigned count, Site site) {
  execution().mbarrier_arrive(word_of(barrier), count, site);
}
void mbarrier_expect_tx(unsigned long long* barrier, unsigned bytes, Site site) {
  execution().mbarrier_expect(word_of(barrier), bytes, site);
}
bool mbarrier_wait(unsigned long long* barrier, unsigned parity, bool blocking, Site site) {
  Execution& here = execution();
  return here.mbarrier_wait(here.current(), word_of(barrier), parity, blocking, site);
}

void bulk_load(void* to, const void* from, unsigned bytes, unsigned long long* barrier, Site site) {
  check_bulk(to, from, bytes, site);
  execution().start_copy(to, from, bytes, word_of(barrier), false, site);
}
void bulk_store(void* to, const void* from, unsigned bytes, Site site) {
  check_bulk(to, from, bytes, site);
  copies().bulk.start(to, from, bytes, bytes);
}
void bulk_add(float* to, const float* from, unsigned bytes, Site site) {
  check_bulk(to, from, bytes, site);
  copies().bulk.start_sum(to, from, bytes);
}
void bulk_commit() { copies().bulk.commit(); }
void bulk_wait(unsigned groups_left, bool read_only) {
  if (read_only) {
    copies().bulk.read(groups_left);
  } else {
    copies().bulk.wait(groups_left);
  }
}
void store_async(void* to, const void* value, unsigned bytes, unsigned long long* barrier, Site site) {
  execution().start_copy(to, value, bytes, word_of(barrier), true, site);
}

void cluster_arrive(Site site) {
  Execution& here = execution();
  here.cluster_arrive(here.current(), site);
}
void cluster_wait(Site site) {
  Execution& here = execution();
  here.cluster_wait(here.current(), site);
}
void* map_shared(const void* address, unsigned rank, Site site) { return execution().map_shared(address, rank, site); }

}  // namespace

const Runtime& runtime_functions() noexcept {
  static constexpr Runtime kFunctions{
      .barrier = Execution::barrier,
      .collective = Execution::meet,
      .yield = yield,
      .fault = fault,
      .copy_async = copy_async,
      .copy_async_commit = copy_async_commit,
      .copy_async_wait = copy_async_wait,
      .mbarrier_init = mbarrier_init,
      .mbarrier_invalidate = mbarrier_invalidate,
      .mbarrier_arrive = mbarrier_arrive,
      .mbarrier_expect_tx = mbarrier_expect_tx,
      .mbarrier_wait = mbarrier_wait,
      .bulk_load = bulk_load,
      .bulk_store = bulk_store,
      .bulk_commit = bulk_commit,
      .bulk_wait = bulk_wait,
      .store_async = store_async,
      .cluster_arrive = cluster_arrive,
      .cluster_wait = cluster_wait,
      .map_shared = map_shared,
      .bulk_add = bulk_add,
  };
  return kFunctions;
}

}  // namespace tilewright::emulator
