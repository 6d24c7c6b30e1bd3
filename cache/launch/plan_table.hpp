// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cache/base/limits.hpp"

/// The plans of one op, found by shape in a few nanoseconds: an open-addressed table to which plans are added, and in
/// which a better one may take a plan's place. Any number of threads may look up while one changes it (the callers see
/// to it that it is one); neither waits for the other, and nothing that a reader may hold is freed before the table. A
/// plan that is put again costs no memory; only another plan is kept beside it.
namespace tilewright::launch {

struct ReadyPlan;

/// The key of a kept plan. Dims beyond the op's are 0.
struct PlanKey {
  /// The CUDA context's id, which no other context of the process has or will have.
  std::uint64_t context = 0;
  /// Three bits a tensor: the power of two, up to 128, that its address and its strides in bytes are multiples of. What
  /// has no bits of its own shares the last three, which are those of the least aligned.
  std::uint64_t alignment = 0;
  std::array<std::int64_t, kMostDims> dims{};

  /// Over the first `count` dims: the others are 0 in every key of an op.
  [[nodiscard, gnu::hot]] std::uint64_t hash(std::size_t count) const noexcept;
};

class PlanTable {
 public:
  /// For keys of `dims` dims.
  explicit PlanTable(std::size_t dims);
  ~PlanTable();
  PlanTable(const PlanTable&) = delete;
  PlanTable& operator=(const PlanTable&) = delete;

  /// Null when there is none, or when it was forgotten. Takes no lock and allocates nothing.
  [[nodiscard, gnu::hot]] const ReadyPlan* find(const PlanKey& key) const noexcept;
  /// The plan that a key had last, though it was forgotten.
  [[nodiscard]] std::shared_ptr<const ReadyPlan> last(const PlanKey& key) const noexcept;
  /// Puts a plan under a key, in the place of the one that it has. One thread at a time.
  void put(const PlanKey& key, std::shared_ptr<const ReadyPlan> plan);
  /// From now on nothing is found under a key, until it is put again. One thread at a time.
  void forget(const PlanKey& key) noexcept;
  /// Under which something is found. One thread at a time.
  [[nodiscard]] std::vector<PlanKey> keys() const;
  /// Plans that are kept, those whose place another took too. One thread at a time.
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry;
  struct Slots;
  using Slot = std::atomic<const Entry*>;
  void grow();
  /// The slot that a key has, or would have.
  [[gnu::hot]] static Slot& slot_of(const Slots& slots, const PlanKey& key, std::uint64_t hash,
                                    std::size_t dims) noexcept;

  std::size_t dims_;
  std::atomic<const Slots*> current_;
  /// Keys that have an entry.
  std::size_t keys_ = 0;
  /// All that ever were: a reader may still be in an older one. Together they are twice the newest.
  std::vector<std::unique_ptr<const Slots>> all_slots_;
  std::vector<std::unique_ptr<const Entry>> entries_;
};

}  // namespace tilewright::launch
