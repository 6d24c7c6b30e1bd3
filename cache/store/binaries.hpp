// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// How binaries lie in the cache: one zstd frame each, known by the content hash of the bytes before compression, so
/// that equal binaries of different builds are kept once and damage is seen at reading. Pure functions.
namespace tilewright {

/// What a frame is made for. Whoever reads one need not know.
enum class Packing : std::uint8_t {
  plain,   ///< about as large as its content, for a packer that sees many binaries at once and finds what they share
  fast,    ///< while a sweep waits
  tight,   ///< once, for files that are kept
  shared,  ///< the same, with what the binaries of an implementation have in common kept once
};

/// No block of four bytes, the least that one has, makes more than 128 KiB: what claims more is no frame.
inline constexpr std::size_t kMostBytesForAByte = std::size_t{1} << 15;

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
