// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct ZSTD_CDict_s;

/// Binaries of the cache: one zstd frame each, identified by the content hash of the uncompressed bytes. Equal binaries
/// of different builds are stored once, and reading finds damage. Pure functions.
namespace tilewright {

/// The purpose of a frame. Its reader need not know it.
enum class Packing : std::uint8_t {
  plain,   ///< nearly uncompressed, for a packer that sees many binaries at once and finds their common content
  fast,    ///< while a sweep waits
  tight,   ///< once, for files that are kept
  shared,  ///< with a dictionary, for files that are kept: many binaries at once
};

/// A block of four bytes, the smallest, expands to at most 128 KiB: data that claims more is no frame.
inline constexpr std::size_t kMostBytesForAByte = std::size_t{1} << 15;

/// Compresses many binaries with one dictionary, which is read once. For any number of threads.
class Compressor {
 public:
  explicit Compressor(Packing packing, std::span<const std::byte> dictionary = {});
  [[nodiscard]] std::vector<std::byte> operator()(std::span<const std::byte> bytes) const;

 private:
  struct Free {
    void operator()(ZSTD_CDict_s* dictionary) const noexcept;
  };
  Packing packing_;
  std::unique_ptr<ZSTD_CDict_s, Free> dictionary_;  // null: without one
};

/// One zstd frame that carries its content's size. It is read with the dictionary that it was made with, if any.
[[nodiscard]] std::vector<std::byte> compress_binary(std::span<const std::byte> bytes, Packing packing = Packing::fast,
                                                     std::span<const std::byte> dictionary = {});

/// Decompresses a frame. `size` and `hash` were stored beside it. Throws BadRow (codecs.hpp) if anything differs.
[[nodiscard]] std::vector<std::byte> decompress_binary(std::span<const std::byte> frame, std::int64_t size,
                                                       const std::string& hash,
                                                       std::span<const std::byte> dictionary = {});
/// The same, with the size taken from the frame alone.
[[nodiscard]] std::vector<std::byte> decompress_binary(std::span<const std::byte> frame, const std::string& hash);

}  // namespace tilewright
