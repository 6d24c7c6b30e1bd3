// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace tilewright {

/// An open file, folder or socket by its number, closed with its one owner. A lock of it goes then, too, or with the
/// process, however that ends. For one thread at a time.
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

  /// All of it, from where the file stands. False with errno, some of it being there, perhaps.
  [[nodiscard]] bool write(std::span<const std::byte> bytes) const noexcept;
  [[nodiscard]] bool write(std::string_view text) const noexcept { return write(std::as_bytes(std::span(text))); }
  /// As flock(), whatever signals come. False with errno; EWOULDBLOCK: another has it, and `how` has LOCK_NB.
  [[nodiscard]] bool lock(int how) const noexcept;

 private:
  void swap(Descriptor& other) noexcept { std::swap(number_, other.number_); }

  int number_;
};

}  // namespace tilewright
