// SPDX-License-Identifier: Apache-2.0
#include "tuner/device/cpu/shared_memory.hpp"

#include <algorithm>
#include <cstring>

#include "tuner/device/cpu/async_copies.hpp"
#include "tuner/device/cpu/context.hpp"

namespace tilewright::emulator {
namespace {

constexpr std::size_t kAlign = 1024;
constexpr std::size_t kGuardBytes = 1024;
constexpr std::byte kGuard{0xa5};

}  // namespace

SharedMemory::SharedMemory(std::size_t blocks, std::size_t bytes_per_block)
    : blocks_(blocks),
      bytes_(bytes_per_block),
      stride_((bytes_per_block + kGuardBytes + kAlign - 1) / kAlign * kAlign),
      room_(blocks * stride_ + kAlign),
      memory_(std::make_unique_for_overwrite<std::byte[]>(room_)) {
  void* first = memory_.get();
  std::size_t room = room_;
  first_ = static_cast<std::byte*>(std::align(kAlign, blocks * stride_, first, room));
  for (std::size_t rank = 0; rank < blocks_; ++rank) {
    std::memset(block(rank) + bytes_, static_cast<int>(kGuard), stride_ - bytes_);
#ifdef TILEWRIGHT_ASAN
    __asan_poison_memory_region(block(rank) + bytes_, stride_ - bytes_);
#endif
  }
}

SharedMemory::~SharedMemory() {
#ifdef TILEWRIGHT_ASAN
  __asan_unpoison_memory_region(memory_.get(), room_);
#endif
}

void SharedMemory::poison() noexcept {
  for (std::size_t rank = 0; rank < blocks_; ++rank) poison(rank);
}

void SharedMemory::poison(std::size_t rank) noexcept { std::memset(block(rank), kPoison, bytes_); }

std::optional<std::size_t> SharedMemory::overrun(std::size_t rank) const noexcept {
#ifndef TILEWRIGHT_ASAN
  const std::byte* guard = block(rank) + bytes_;
  const std::byte* end = block(rank) + stride_;
  const std::byte* broken = std::find_if(guard, end, [](std::byte byte) { return byte != kGuard; });
  if (broken != end) return static_cast<std::size_t>(broken - block(rank));
#else
  static_cast<void>(rank);
#endif
  return std::nullopt;
}

}  // namespace tilewright::emulator
