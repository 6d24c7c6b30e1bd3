// SPDX-License-Identifier: Apache-2.0
// mbarriers and the copies that complete on them. An mbarrier is its 8 bytes of shared memory, so a kernel that moves,
// forgets or overwrites it fails as on a GPU. Fields from the low bit: pending arrivals (20), expected arrivals (20),
// pending bytes (21, signed), phase (1), and at the top the uninitialised bit (1), which poison sets.
#include <cstring>

#include "tuner/device/cpu/scheduling.hpp"

namespace tilewright::emulator {
namespace {

constexpr std::uint64_t kCountMask = (1u << 20) - 1;
constexpr std::uint64_t kPhaseBit = 1ull << 61;
constexpr std::uint64_t kUninitialised = 1ull << 63;
constexpr std::int64_t kMostBytes = (1 << 20) - 1;

struct State {
  unsigned pending;
  unsigned expected;
  std::int64_t bytes;
  bool phase;
};

State unpack(std::uint64_t word) {
  return {static_cast<unsigned>(word & kCountMask), static_cast<unsigned>(word >> 20 & kCountMask),
          static_cast<std::int64_t>(word << 3) >> 43, (word & kPhaseBit) != 0};
}

std::uint64_t pack(const State& state) {
  return state.pending | std::uint64_t{state.expected} << 20 |
         (static_cast<std::uint64_t>(state.bytes) & ((1u << 21) - 1)) << 40 | (state.phase ? kPhaseBit : 0);
}

}  // namespace

void Execution::check_mbarrier(const std::uint64_t& word, Site site) noexcept {
  if (reinterpret_cast<std::uintptr_t>(&word) % sizeof word != 0) {
    fail(Fault::kMisaligned, &word, "an mbarrier needs an address that is a multiple of 8", site);
  }
  if ((word & kUninitialised) != 0 || unpack(word).expected == 0) {
    fail(Fault::kBadBarrier, &word, "an mbarrier was used before mbarrier_init, or overwritten", site);
  }
}

void Execution::mbarrier_init(std::uint64_t& word, unsigned count, Site site) noexcept {
  if (reinterpret_cast<std::uintptr_t>(&word) % sizeof word != 0) {
    fail(Fault::kMisaligned, &word, "an mbarrier needs an address that is a multiple of 8", site);
  }
  if (count == 0 || count > kCountMask) {
    fail(Fault::kBadBarrier, &word, "an mbarrier expects between 1 and 1048575 arrivals", site);
  }
  word = pack({count, count, 0, false});
}

void Execution::mbarrier_invalidate(std::uint64_t& word, Site site) noexcept {
  check_mbarrier(word, site);
  word = ~std::uint64_t{0};
}

void Execution::mbarrier_arrive(std::uint64_t& word, unsigned count, Site site) noexcept {
  check_mbarrier(word, site);
  State state = unpack(word);
  if (count == 0 || count > state.pending) {
    fail(Fault::kBadBarrier, &word, "more arrivals at an mbarrier than its phase expects", site);
  }
  state.pending -= count;
  word = pack(state);
  settle_mbarrier(word);
}

void Execution::mbarrier_expect(std::uint64_t& word, unsigned bytes, Site site) noexcept {
  check_mbarrier(word, site);
  State state = unpack(word);
  state.bytes += bytes;
  if (state.bytes > kMostBytes) {
    fail(Fault::kBadBarrier, &word, "an mbarrier expects at most 1048575 bytes in a phase", site);
  }
  word = pack(state);
}

bool Execution::mbarrier_wait(Fiber& self, std::uint64_t& word, unsigned parity, bool blocking, Site site) noexcept {
  for (bool yielded = false;;) {
    check_mbarrier(word, site);
    if (unpack(word).phase != ((parity & 1) != 0)) return true;
    land_copies(word, site);
    if (unpack(word).phase != ((parity & 1) != 0)) return true;
    if (blocking) {
      mbarrier_waiters_.push_back(&self);
      wait(self, Waiting::mbarrier, &word, parity & 1, site);
    } else if (yielded) {
      return false;
    } else {
      yield(self);
      yielded = true;
    }
  }
}

void Execution::start_copy(void* to, const void* from, unsigned bytes, std::uint64_t& word, bool is_value,
                           Site site) noexcept {
  check_mbarrier(word, site);
  BarrierCopy copy{&word, to, from, bytes, 0, is_value};
  if (is_value) std::memcpy(&copy.value, from, bytes);
  std::memset(to, kPoison, bytes);
  barrier_copies_.push_back(copy);
  wake_mbarrier_waiters(word);  // they look again and land the copy
}

void Execution::land_copies(std::uint64_t& word, Site site) noexcept {
  State state = unpack(word);
  std::size_t kept = 0;
  for (const BarrierCopy& copy : barrier_copies_) {
    if (copy.word != &word) {
      barrier_copies_[kept++] = copy;
      continue;
    }
    std::memcpy(copy.to, copy.is_value ? static_cast<const void*>(&copy.value) : copy.from, copy.bytes);
    state.bytes -= copy.bytes;
  }
  if (kept == barrier_copies_.size()) return;
  barrier_copies_.resize(kept);
  if (state.bytes < -kMostBytes) {
    fail(Fault::kBadBarrier, &word, "copies brought more bytes than the mbarrier was told to expect", site);
  }
  word = pack(state);
  settle_mbarrier(word);
}

void Execution::settle_mbarrier(std::uint64_t& word) noexcept {
  State state = unpack(word);
  if (state.pending != 0 || state.bytes != 0) return;
  word = pack({state.expected, state.expected, 0, !state.phase});
  wake_mbarrier_waiters(word);
}

void Execution::wake_mbarrier_waiters(const std::uint64_t& word) noexcept {
  std::erase_if(mbarrier_waiters_, [&](Fiber* fiber) {
    if (fiber->waited_object != &word) return false;
    wake_later(*fiber->warp, 1u << fiber->lane);
    return true;
  });
}

}  // namespace tilewright::emulator
