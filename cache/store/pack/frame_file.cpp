// SPDX-License-Identifier: Apache-2.0
#include "cache/store/pack/frame_file.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <string>

#include "cache/base/error.hpp"
#include "cache/store/binaries.hpp"

namespace tilewright {
namespace {

// Far above any that is shipped: a broken size takes no memory.
constexpr unsigned long long kMost = 1ULL << 30;

std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error(fmt::format("cannot read {}", file.string()));
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const std::filesystem::path& to, const std::string& content, const std::filesystem::path& from) {
  if (!(std::ofstream(to, std::ios::binary) << content).flush()) {
    throw Error(
        fmt::format("cannot write {}, made of {}. Free space there (df -h), or name another place for temporary "
                    "files with TMPDIR=FOLDER",
                    to.string(), from.string()));
  }
}

std::string unpacked(const std::filesystem::path& file) {
  const std::string frame = content_of(file);
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  // Neither "unknown" nor "no frame" is below it.
  if (size <= kMost && size <= kMostBytesForAByte * frame.size()) {
    std::string content(size, '\0');
    if (ZSTD_decompress(content.data(), content.size(), frame.data(), frame.size()) == size) return content;
  }
  if (size != ZSTD_CONTENTSIZE_UNKNOWN && size != ZSTD_CONTENTSIZE_ERROR && size > kMost) {
    throw Error(
        fmt::format("{} is {} MiB unpacked, more than the {} MiB that are read packed; unpack it with `zstd -d {}`",
                    file.string(), size >> 20, kMost >> 20, file.string()));
  }
  throw Error(fmt::format("{} is no whole zstd frame; pack a cache with `zstd -19 FILE`", file.string()));
}

}  // namespace

void unpack_file(const std::filesystem::path& frame, const std::filesystem::path& to) {
  write(to, unpacked(frame), frame);
}

void pack_file(const std::filesystem::path& file, const std::filesystem::path& to) {
  // As zstd --ultra -22 --long=27: a window larger than most contents, which every reader opens without an option.
  constexpr int kLevel = 22;
  constexpr int kWindowLog = 27;
  const std::string content = content_of(file);
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  if (context == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, kWindowLog);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_enableLongDistanceMatching, 1);
  std::string frame(ZSTD_compressBound(content.size()), '\0');
  const std::size_t size = ZSTD_compress2(context.get(), frame.data(), frame.size(), content.data(), content.size());
  if (ZSTD_isError(size) != 0) {
    throw Error(fmt::format("cannot pack {}: {}", file.string(), ZSTD_getErrorName(size)));
  }
  frame.resize(size);
  write(to, frame, file);
}

}  // namespace tilewright
