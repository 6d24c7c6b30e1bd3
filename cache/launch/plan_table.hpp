// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cache/base/limits.hpp"

/// The plans of one op, found by shape in a few nanoseconds: an open-addressed table. Plans are added, or replaced by
/// better ones. Any number of threads may look up while one changes the table; callers ensure that it is one. Neither
/// waits for the other, and nothing that a reader may hold is freed before the table. The same plan put again costs no
/// memory; a different one is kept beside the old one.
namespace tilewright::launch {

struct ReadyPlan;

/// The key of a plan. Dims beyond the op's are 0.
struct PlanKey {
  /// The CUDA context's id, unique in the process.
  std::uint64_t context = 0;
  /// Three bits per tensor: log2 of the power of two, up to 128, that divides its address and its strides in bytes.
  /// From the 21st tensor on all share the last three bits, which hold the least alignment.
  std::uint64_t alignment = 0;
  std::array<std::int64_t, kMostDims> dims{};

  /// Hashes the first `count` dims: the others are 0 in all keys of an op.
  [[nodiscard, gnu::hot]] std::uint64_t hash(std::size_t count) const noexcept;
};

class PlanTable {
 public:
  /// For keys of `dims` dims.
  explicit PlanTable(std::size_t dims);
  ~PlanTable();
  PlanTable(const PlanTable&) = delete;
  PlanTable& operator=(const PlanTable&) = delete;

  /// Null if the key has no plan or was forgotten. Takes no lock and allocates nothing.
  [[nodiscard, gnu::hot]] const ReadyPlan* find(const PlanKey& key) const noexcept;
  /// The key's newest plan, even if it was forgotten.
  [[nodiscard]] std::shared_ptr<const ReadyPlan> last(const PlanKey& key) const noexcept;
  /// Puts a plan under a key, replacing the key's old one. One thread at a time.
  void put(const PlanKey& key, std::shared_ptr<const ReadyPlan> plan);
  /// Hides a key's plan until the key is put again. One thread at a time.
  void forget(const PlanKey& key) noexcept;
  /// The keys with a plan that is not forgotten. One thread at a time.
  [[nodiscard]] std::vector<PlanKey> keys() const;
  /// The number of plans kept, replaced ones included. One thread at a time.
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry;
  struct Slots;
  using Slot = std::atomic<const Entry*>;
  void grow();
  /// The slot that a key has or would take.
  [[gnu::hot]] static Slot& slot_of(const Slots& slots, const PlanKey& key, std::uint64_t hash,
                                    std::size_t dims) noexcept;

  std::size_t dims_;
  std::atomic<const Slots*> current_;
  /// The number of keys with an entry.
  std::size_t keys_ = 0;
  /// All tables so far: a reader may still be in an older one. Together they are less than twice the newest.
  std::vector<std::unique_ptr<const Slots>> all_slots_;
  std::vector<std::unique_ptr<const Entry>> entries_;
};

}  // namespace tilewright::launch
