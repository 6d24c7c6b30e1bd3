// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/plan_table.hpp"

#include <algorithm>
#include <utility>

#include "cache/launch/ready_plan.hpp"

namespace tilewright::launch {

namespace {

constexpr std::size_t kFirstCapacity = 64;

}  // namespace

std::uint64_t PlanKey::hash(std::size_t count) const noexcept {
  // One multiply and one shift per word. Dims are small and often multiples of powers of two, so the well-mixed high
  // bits of the product are folded back each time.
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;
  std::uint64_t hash = (context * kOdd) ^ alignment;
  for (std::size_t i = 0; i < count; ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(dims[i])) * kOdd;
    hash ^= hash >> 32;
  }
  return hash;
}

/// In the order in which a launch reads it; with two dims, one cache line.
struct alignas(64) PlanTable::Entry {
  std::uint64_t hash;
  mutable std::atomic<bool> is_forgotten;
  std::shared_ptr<const ReadyPlan> plan;
  PlanKey key;

  /// Compares only the op's dims: the others are 0 in all keys.
  [[nodiscard]] bool is_of(const PlanKey& other, std::uint64_t other_hash, std::size_t dims) const noexcept {
    bool same = hash == other_hash && key.context == other.context && key.alignment == other.alignment;
    // A plain loop: for so few words, an algorithm would be a call into another library.
    for (std::size_t i = 0; i < dims; ++i) same = same && key.dims[i] == other.dims[i];
    return same;
  }
};

struct PlanTable::Slots {
  explicit Slots(std::size_t capacity) : mask(capacity - 1), slots(new Slot[capacity]()) {}
  std::size_t mask;
  std::unique_ptr<Slot[]> slots;
};

PlanTable::PlanTable(std::size_t dims) : dims_(dims) {
  all_slots_.push_back(std::make_unique<const Slots>(kFirstCapacity));
  current_.store(all_slots_.back().get(), std::memory_order_release);
}

PlanTable::~PlanTable() = default;

PlanTable::Slot& PlanTable::slot_of(const Slots& slots, const PlanKey& key, std::uint64_t hash,
                                    std::size_t dims) noexcept {
  // At most half of the slots are taken, so a search ends.
  for (std::size_t at = hash & slots.mask;; at = (at + 1) & slots.mask) {
    const Entry* entry = slots.slots[at].load(std::memory_order_acquire);
    if (entry == nullptr || entry->is_of(key, hash, dims)) return slots.slots[at];
  }
}

const ReadyPlan* PlanTable::find(const PlanKey& key) const noexcept {
  const Slot& slot = slot_of(*current_.load(std::memory_order_acquire), key, key.hash(dims_), dims_);
  const Entry* entry = slot.load(std::memory_order_acquire);
  return entry != nullptr && !entry->is_forgotten.load(std::memory_order_relaxed) ? entry->plan.get() : nullptr;
}

void PlanTable::forget(const PlanKey& key) noexcept {
  const Entry* entry = slot_of(*all_slots_.back(), key, key.hash(dims_), dims_).load(std::memory_order_relaxed);
  if (entry != nullptr) entry->is_forgotten.store(true, std::memory_order_relaxed);
}

std::vector<PlanKey> PlanTable::keys() const {
  std::vector<PlanKey> all;
  const Slots& slots = *all_slots_.back();
  for (std::size_t i = 0; i <= slots.mask; ++i) {
    const Entry* entry = slots.slots[i].load(std::memory_order_relaxed);
    if (entry != nullptr && !entry->is_forgotten.load(std::memory_order_relaxed)) all.push_back(entry->key);
  }
  return all;
}

std::shared_ptr<const ReadyPlan> PlanTable::last(const PlanKey& key) const noexcept {
  const Entry* entry = slot_of(*all_slots_.back(), key, key.hash(dims_), dims_).load(std::memory_order_acquire);
  return entry != nullptr ? entry->plan : nullptr;
}

void PlanTable::grow() {
  const Slots& old = *all_slots_.back();
  all_slots_.push_back(std::make_unique<const Slots>(2 * (old.mask + 1)));
  const Slots& slots = *all_slots_.back();
  for (std::size_t i = 0; i <= old.mask; ++i) {
    const Entry* entry = old.slots[i].load(std::memory_order_relaxed);
    if (entry != nullptr) slot_of(slots, entry->key, entry->hash, dims_).store(entry, std::memory_order_relaxed);
  }
  current_.store(&slots, std::memory_order_release);
}

void PlanTable::put(const PlanKey& key, std::shared_ptr<const ReadyPlan> plan) {
  const std::uint64_t hash = key.hash(dims_);
  const Entry* before = slot_of(*all_slots_.back(), key, hash, dims_).load(std::memory_order_relaxed);
  if (before != nullptr && before->plan == plan) {
    before->is_forgotten.store(false, std::memory_order_relaxed);
    return;
  }
  if (before == nullptr && 2 * (keys_ + 1) > all_slots_.back()->mask + 1) grow();
  std::unique_ptr<const Entry> entry(new Entry{hash, false, std::move(plan), key});
  entries_.push_back(std::move(entry));
  slot_of(*all_slots_.back(), key, hash, dims_).store(entries_.back().get(), std::memory_order_release);
  if (before == nullptr) ++keys_;
}

}  // namespace tilewright::launch
