// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

/// The dynamic shared memory of a cluster's blocks, each aligned to 1024 bytes and followed by a guard zone. A write
/// into a guard zone is detected when the cluster ends; with AddressSanitizer at once, in the kernel's line.
namespace tilewright::emulator {

class SharedMemory {
 public:
  SharedMemory(std::size_t blocks, std::size_t bytes_per_block);
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  [[nodiscard]] std::byte* block(std::size_t rank) const noexcept { return first_ + rank * stride_; }
  /// Fills all blocks with poison.
  void poison() noexcept;
  void poison(std::size_t rank) noexcept;
  /// The offset of the first byte written behind the block's memory; nullopt if there is none.
  [[nodiscard]] std::optional<std::size_t> overrun(std::size_t rank) const noexcept;

 private:
  std::size_t blocks_;
  std::size_t bytes_;
  std::size_t stride_;
  std::size_t room_;
  std::unique_ptr<std::byte[]> memory_;
  std::byte* first_;
};

}  // namespace tilewright::emulator
