// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace tilewright {

/// Owns the number of an open file, folder or socket and closes it. A lock taken through it ends then, or with the
/// process. For one thread at a time.
class Descriptor {
 public:
  /// -1: nothing is open.
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    Descriptor(std::move(other)).swap(*this);
    return *this;
  }
  ~Descriptor();

  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }

  /// Writes all bytes at the current position. Returns false with errno if it fails; a part may then be written.
  [[nodiscard]] bool write(std::span<const std::byte> bytes) const noexcept;
  [[nodiscard]] bool write(std::string_view text) const noexcept { return write(std::as_bytes(std::span(text))); }
  /// Calls flock(), again after a signal. Returns false with errno; EWOULDBLOCK: LOCK_NB is set and another holds it.
  [[nodiscard]] bool lock(int how) const noexcept;

 private:
  void swap(Descriptor& other) noexcept { std::swap(number_, other.number_); }

  int number_;
};

}  // namespace tilewright
