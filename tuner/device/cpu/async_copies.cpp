// SPDX-License-Identifier: Apache-2.0
#include "tuner/device/cpu/async_copies.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace tilewright::emulator {

void CopyGroups::start(void* to, const void* from, std::uint32_t bytes, std::uint32_t source_bytes) {
  std::memset(to, kPoison, bytes);
  copies_.push_back({to, from, bytes, source_bytes, open_group_});
}

void CopyGroups::start_sum(float* to, const float* from, std::uint32_t bytes) {
  copies_.push_back({to, from, bytes, bytes, open_group_, true});
}

void CopyGroups::land(const Copy& copy) {
  const void* from = copy.read.empty() ? copy.from : copy.read.data();
  if (copy.is_sum) {
    for (std::uint32_t at = 0; at < copy.bytes; at += sizeof(float)) {
      float addend = 0;
      std::memcpy(&addend, static_cast<const std::byte*>(from) + at, sizeof addend);
      std::atomic_ref(*reinterpret_cast<float*>(static_cast<std::byte*>(copy.to) + at)).fetch_add(addend);
    }
    return;
  }
  if (copy.source_bytes > 0) std::memcpy(copy.to, from, copy.source_bytes);
  std::memset(static_cast<std::byte*>(copy.to) + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
}

std::size_t CopyGroups::end_of(std::uint32_t groups_left) const noexcept {
  const std::uint32_t landing = open_group_ > groups_left ? open_group_ - groups_left : 0;
  const auto end =
      std::find_if(copies_.begin(), copies_.end(), [&](const Copy& copy) { return copy.group >= landing; });
  return static_cast<std::size_t>(end - copies_.begin());
}

void CopyGroups::wait(std::uint32_t groups_left) {
  const auto end = copies_.begin() + static_cast<std::ptrdiff_t>(end_of(groups_left));
  std::for_each(copies_.begin(), end, land);
  copies_.erase(copies_.begin(), end);
}

void CopyGroups::read(std::uint32_t groups_left) {
  for (std::size_t i = 0; i < end_of(groups_left); ++i) {
    Copy& copy = copies_[i];
    const auto* from = static_cast<const std::byte*>(copy.from);
    if (copy.read.empty()) copy.read.assign(from, from + copy.source_bytes);
  }
}

void CopyGroups::finish() {
  for (const Copy& copy : copies_) {
    if (!copy.read.empty()) land(copy);
  }
  copies_.clear();
  open_group_ = 0;
}

}  // namespace tilewright::emulator
