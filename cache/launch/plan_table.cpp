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
  // A multiply and a shift a word; dims are small numbers and often multiples of powers of two, so the high bits, which
  // a product mixes best, are folded back each time.
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;
  std::uint64_t hash = (context * kOdd) ^ alignment;
  for (std::size_t i = 0; i < count; ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(dims[i])) * kOdd;
    hash ^= hash >> 32;
  }
  return hash;
}

struct PlanTable::Entry {
  PlanKey key;
  std::uint64_t hash;
  std::shared_ptr<const ReadyPlan> plan;
};

struct PlanTable::Slots {
  explicit Slots(std::size_t capacity) : mask(capacity - 1), slots(new std::atomic<const Entry*>[capacity]()) {}
  std::size_t mask;
  std::unique_ptr<std::atomic<const Entry*>[]> slots;
};

PlanTable::PlanTable(std::size_t dims) : dims_(dims) {
  all_slots_.push_back(std::make_unique<const Slots>(kFirstCapacity));
  current_.store(all_slots_.back().get(), std::memory_order_release);
}

PlanTable::~PlanTable() = default;

const ReadyPlan* PlanTable::find(const PlanKey& key) const noexcept {
  const Slots& slots = *current_.load(std::memory_order_acquire);
  const std::uint64_t hash = key.hash(dims_);
  // At most half of the slots are taken, so a search ends.
  for (std::size_t at = hash & slots.mask;; at = (at + 1) & slots.mask) {
    const Entry* entry = slots.slots[at].load(std::memory_order_acquire);
    if (entry == nullptr) return nullptr;
    if (entry->hash == hash && entry->key == key) return entry->plan.get();
  }
}

void PlanTable::place(const Slots& slots, const Entry& entry) noexcept {
  std::size_t at = entry.hash & slots.mask;
  while (slots.slots[at].load(std::memory_order_relaxed) != nullptr) at = (at + 1) & slots.mask;
  slots.slots[at].store(&entry, std::memory_order_release);
}

void PlanTable::grow() {
  const std::size_t capacity = 2 * (all_slots_.back()->mask + 1);
  all_slots_.push_back(std::make_unique<const Slots>(capacity));
  for (const auto& entry : entries_) place(*all_slots_.back(), *entry);
  current_.store(all_slots_.back().get(), std::memory_order_release);
}

void PlanTable::insert(const PlanKey& key, std::shared_ptr<const ReadyPlan> plan) {
  if (2 * (entries_.size() + 1) > all_slots_.back()->mask + 1) grow();
  entries_.push_back(std::make_unique<const Entry>(Entry{key, key.hash(dims_), std::move(plan)}));
  place(*all_slots_.back(), *entries_.back());
}

bool PlanTable::replace(const PlanKey& key, std::shared_ptr<const ReadyPlan> plan) {
  const auto found = std::ranges::find_if(entries_, [&](const auto& entry) { return entry->key == key; });
  if (found == entries_.end()) return false;
  const Slots& slots = *all_slots_.back();
  std::size_t at = (*found)->hash & slots.mask;
  while (slots.slots[at].load(std::memory_order_relaxed) != found->get()) at = (at + 1) & slots.mask;
  replaced_.push_back(std::move(*found));
  *found = std::make_unique<const Entry>(Entry{key, replaced_.back()->hash, std::move(plan)});
  slots.slots[at].store(found->get(), std::memory_order_release);
  return true;
}

}  // namespace tilewright::launch
