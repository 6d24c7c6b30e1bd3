// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

/// Host memory between two pages without access, its end as near the second one as alignment allows: a kernel on the
/// emulator that writes far outside is a segmentation fault and not another tensor's corruption. Zero at first;
/// movable.
namespace tilewright {

class FencedMemory {
 public:
  static constexpr std::size_t kAlignment = 256;

  /// Throws DeviceError, which says what the memory was for, when there is not enough.
  FencedMemory(std::size_t bytes, const std::string& what);

  /// A multiple of kAlignment.
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
