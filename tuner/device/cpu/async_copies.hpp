// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Copies that a thread has started and not awaited. Their destination reads as poison (all bits set, which is NaN)
/// until they land, and they land at the latest moment that the wait allows. A kernel that waits too little, or for the
/// wrong group, computes with NaN.
namespace tilewright::emulator {

inline constexpr std::uint8_t kPoison = 0xff;

/// The copies of one mechanism, in groups that each commit ends.
class CopyGroups {
 public:
  void start(void* to, const void* from, std::uint32_t bytes, std::uint32_t source_bytes);
  /// Adds floats to those at `to`, each atomically, when a copy would land. These are not poison before: other blocks
  /// may add to them.
  void start_sum(float* to, const float* from, std::uint32_t bytes);
  void commit() noexcept { ++open_group_; }
  /// Lands all groups except the last `groups_left` committed ones.
  void wait(std::uint32_t groups_left);
  /// Reads the sources of the same groups, so that they may be overwritten. The copies land later.
  void read(std::uint32_t groups_left);
  /// For a thread that exits: lands the copies already read and drops the others.
  void finish();

 private:
  struct Copy {
    void* to;
    const void* from;
    std::uint32_t bytes;
    std::uint32_t source_bytes;
    std::uint32_t group;
    bool is_sum = false;
    std::vector<std::byte> read = {};
  };
  static void land(const Copy& copy);
  /// The index of the first copy that `groups_left` leaves in flight.
  [[nodiscard]] std::size_t end_of(std::uint32_t groups_left) const noexcept;

  std::vector<Copy> copies_;
  std::uint32_t open_group_ = 0;
};

/// cp.async and cp.async.bulk have separate groups.
struct AsyncCopies {
  CopyGroups small;
  CopyGroups bulk;
};

}  // namespace tilewright::emulator
