// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

/// Host memory between two inaccessible pages; its end is as near the second one as alignment allows. An emulated
/// kernel that writes far outside gets a segmentation fault instead of corrupting another tensor. Initially zero.
/// Movable.
namespace tilewright {

class FencedMemory {
 public:
  static constexpr std::size_t kAlignment = 256;

  /// `what` says in errors what the memory is for. Throws DeviceError if there is not enough.
  FencedMemory(std::size_t bytes, const std::string& what);

  /// The address is a multiple of kAlignment.
  [[nodiscard]] std::byte* begin() const noexcept { return begin_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct Unmap {
    explicit Unmap(std::size_t mapped) : bytes(mapped) {}
    std::size_t bytes;
    void operator()(std::byte* base) const noexcept;
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte, Unmap> mapping_;
  std::byte* begin_ = nullptr;
};

}  // namespace tilewright
