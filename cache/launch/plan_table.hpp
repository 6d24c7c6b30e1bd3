// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

/// The plans of one op, found by shape in a few nanoseconds: an open-addressed table to which plans are added, and in which a
/// better one may take a plan's place. Any number of threads may look up while one changes it (the callers see to it that it
/// is one); neither waits for the other, and nothing that a reader may hold is freed before the table.
namespace tilewright::launch {

struct ReadyPlan;

/// What a plan is kept under. Two equal keys are equal in every byte: dims beyond the op's are 0.
struct PlanKey {
  static constexpr std::size_t kMostDims = 8;

  /// The CUDA context's id, which no other context of the process has or will have.
  std::uint64_t context = 0;
  /// Three bits an argument: the power of two, up to 128, that its address and its pitch in bytes are multiples of.
  std::uint64_t alignment = 0;
  std::array<std::int64_t, kMostDims> dims{};

  /// Over the first `count` dims: the others are 0 in every key of an op.
  [[nodiscard]] std::uint64_t hash(std::size_t count) const noexcept;
  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

class PlanTable {
 public:
  /// For keys of `dims` dims.
  explicit PlanTable(std::size_t dims);
  ~PlanTable();
  PlanTable(const PlanTable&) = delete;
  PlanTable& operator=(const PlanTable&) = delete;

  /// Null when there is none. Takes no lock and allocates nothing.
  [[nodiscard]] const ReadyPlan* find(const PlanKey& key) const noexcept;
  /// Adds a plan for a key that has none. One thread at a time.
  void insert(const PlanKey& key, std::shared_ptr<const ReadyPlan> plan);
  /// Puts a plan in the place of the one that a key has; false when it has none. One thread at a time.
  bool replace(const PlanKey& key, std::shared_ptr<const ReadyPlan> plan);
  /// One thread at a time.
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry;
  struct Slots;
  void grow();
  static void place(const Slots& slots, const Entry& entry) noexcept;

  std::size_t dims_;
  std::atomic<const Slots*> current_;
  /// All that ever were: a reader may still be in an older one. Together they are twice the newest.
  std::vector<std::unique_ptr<const Slots>> all_slots_;
  std::vector<std::unique_ptr<const Entry>> entries_;
  /// Those whose place another took.
  std::vector<std::unique_ptr<const Entry>> replaced_;
};

}  // namespace tilewright::launch
