// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct ZSTD_CCtx_s;

/// Binaries of the cache: one zstd frame each, known by the content hash of the bytes before compression. Equal
/// binaries of different builds are kept once, and damage is seen at reading. Pure functions.
namespace tilewright {

/// The purpose of a frame, which its reader need not know.
enum class Packing : std::uint8_t {
  plain,   ///< about as large as its content, for a packer that sees many binaries at once and finds what they share
  fast,    ///< while a sweep waits
  tight,   ///< once, for files that are kept
  shared,  ///< with a dictionary, for files that are kept: many at once
};

/// No block of four bytes, the least that one has, makes more than 128 KiB: what claims more is no frame.
inline constexpr std::size_t kMostBytesForAByte = std::size_t{1} << 15;

/// Compresses many binaries with one dictionary, which is read once. One thread.
class Compressor {
 public:
  explicit Compressor(Packing packing, std::span<const std::byte> dictionary = {});
  [[nodiscard]] std::vector<std::byte> operator()(std::span<const std::byte> bytes) const;

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
};

/// One zstd frame that carries its content's size. It is read with the dictionary that it was made with, if any.
[[nodiscard]] std::vector<std::byte> compress_binary(std::span<const std::byte> bytes, Packing packing = Packing::fast,
                                                     std::span<const std::byte> dictionary = {});

/// The bytes again. `size` and `hash` are what was stored beside them. Throws BadRow (codecs.hpp) when anything
/// differs.
[[nodiscard]] std::vector<std::byte> decompress_binary(std::span<const std::byte> frame, std::int64_t size,
                                                       const std::string& hash,
                                                       std::span<const std::byte> dictionary = {});
/// The same, where the size stands in the frame alone.
[[nodiscard]] std::vector<std::byte> decompress_binary(std::span<const std::byte> frame, const std::string& hash);

}  // namespace tilewright
