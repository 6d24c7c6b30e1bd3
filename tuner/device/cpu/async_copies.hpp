// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Copies that a thread has started and not waited for. Their destination reads as poison (all bits set, which
/// is NaN) from the start of a copy to its landing, and a copy lands at the latest moment that the wait allows: so a
/// kernel that waits too little, or for the wrong group, computes with NaN.
namespace tilewright::emulator {

inline constexpr std::uint8_t kPoison = 0xff;

/// The copies of one mechanism, in groups that end at each commit.
class CopyGroups {
 public:
  void start(void* to, const void* from, std::uint32_t bytes, std::uint32_t source_bytes);
  void commit() noexcept { ++open_group_; }
  /// Lands all groups but the last `groups_left` committed ones.
  void wait(std::uint32_t groups_left);
  /// Reads the sources of those groups, so that they may be overwritten; the copies land later.
  void read(std::uint32_t groups_left);
  /// Lands what has been read and drops the rest: the thread has exited.
  void finish();

 private:
  struct Copy {
    void* to;
    const void* from;
    std::uint32_t bytes;
    std::uint32_t source_bytes;
    std::uint32_t group;
    std::vector<std::byte> read;
  };
  static void land(const Copy& copy);
  /// Index of the first copy that `groups_left` leaves under way.
  [[nodiscard]] std::size_t end_of(std::uint32_t groups_left) const noexcept;

  std::vector<Copy> copies_;
  std::uint32_t open_group_ = 0;
};

/// cp.async and cp.async.bulk have groups of their own.
struct AsyncCopies {
  CopyGroups small;
  CopyGroups bulk;
};

}  // namespace tilewright::emulator
