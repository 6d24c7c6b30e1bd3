// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The only source of thread order, so that launches with equal seeds run identically: xorshift64*.
namespace tilewright::emulator {

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du) {
    if (state_ == 0) state_ = 1;
    next();
  }

  std::uint32_t next() noexcept {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>((state_ * 0x2545f4914f6cdd1du) >> 32);
  }

  /// A number below `bound`, which is positive.
  std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>(std::uint64_t{next()} * bound >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace tilewright::emulator
