// SPDX-License-Identifier: Apache-2.0
#include "cache/store/binaries.hpp"

#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <memory>
#include <new>

#include "cache/base/content_hash.hpp"
#include "cache/base/decode.hpp"
#include "cache/store/codecs.hpp"

namespace tilewright {
namespace {

/// Throws std::bad_alloc if a call of zstd found no memory. The caller handles its other errors.
std::size_t with_memory(std::size_t result) {
  if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  return result;
}

int level_of(Packing packing) {
  switch (packing) {
    case Packing::plain:
      // So hasty a search finds nothing, and negative levels code no literals: blocks stay as they are, except runs.
      return ZSTD_minCLevel();
    case Packing::fast:
      // A cubin shrinks to a third at 3 already; higher levels cost milliseconds and win a few percent.
      return 3;
    case Packing::shared:
      // 131 MB of cubins with a dictionary of 256 KiB: level 3 gives 24.5 MB in 0.4 s, 6: 22.0 in 1.0.
      return 6;
    case Packing::tight:
      // 112 MB of cubins: level 3 gives 33.1 MB in 0.3 s, 9: 30.7 in 1.8, 14: 29.0 in 7.3, 19: 28.7 in 21.
      return 14;
  }
  throw Error(fmt::format("no packing has the number {}", static_cast<int>(packing)));
}

}  // namespace

void Compressor::Free::operator()(ZSTD_CDict_s* dictionary) const noexcept { ZSTD_freeCDict(dictionary); }

Compressor::Compressor(Packing packing, std::span<const std::byte> dictionary) : packing_(packing) {
  if (dictionary.empty()) return;
  dictionary_.reset(ZSTD_createCDict(dictionary.data(), dictionary.size(), level_of(packing)));
  if (dictionary_ == nullptr) throw std::bad_alloc();
}

std::vector<std::byte> Compressor::operator()(std::span<const std::byte> bytes) const {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  if (context == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level_of(packing_));
  with_memory(ZSTD_CCtx_refCDict(context.get(), dictionary_.get()));
  std::vector<std::byte> frame(ZSTD_compressBound(bytes.size()));
  const std::size_t written =
      with_memory(ZSTD_compress2(context.get(), frame.data(), frame.size(), bytes.data(), bytes.size()));
  if (ZSTD_isError(written) != 0) {
    throw Error(fmt::format("cannot compress a binary of {} bytes: {}", bytes.size(), ZSTD_getErrorName(written)));
  }
  frame.resize(written);
  return frame;
}

std::vector<std::byte> compress_binary(std::span<const std::byte> bytes, Packing packing,
                                       std::span<const std::byte> dictionary) {
  return Compressor(packing, dictionary)(bytes);
}

std::vector<std::byte> decompress_binary(std::span<const std::byte> frame, std::int64_t size, const std::string& hash,
                                         std::span<const std::byte> dictionary) {
  // The frame's own claim must agree before memory is allocated for it.
  const unsigned long long claimed = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size < 0 || claimed != static_cast<unsigned long long>(size)) {
    throw BadRow(fmt::format("binary {}: its compressed form is broken", hash));
  }
  if (claimed > kMostDecodedBytes || claimed > kMostBytesForAByte * frame.size()) {
    throw BadRow(fmt::format("binary {}: its compressed form claims {} bytes", hash, claimed));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (context == nullptr) throw std::bad_alloc();
  const std::size_t read = with_memory(ZSTD_decompress_usingDict(
      context.get(), bytes.data(), bytes.size(), frame.data(), frame.size(), dictionary.data(), dictionary.size()));
  if (ZSTD_isError(read) != 0 || read != bytes.size()) {
    throw BadRow(fmt::format("binary {}: it cannot be decompressed", hash));
  }
  if (const std::string actual = content_hash(bytes); actual != hash) {
    throw BadRow(fmt::format("binary {}: its content has the hash {}", hash, actual));
  }
  return bytes;
}

std::vector<std::byte> decompress_binary(std::span<const std::byte> frame, const std::string& hash) {
  const unsigned long long claimed = ZSTD_getFrameContentSize(frame.data(), frame.size());
  // zstd's "unknown" and "no frame" become negative sizes, which are refused.
  return decompress_binary(frame, static_cast<std::int64_t>(claimed), hash);
}

}  // namespace tilewright
