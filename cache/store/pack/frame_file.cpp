// SPDX-License-Identifier: Apache-2.0
#include "cache/store/pack/frame_file.hpp"

#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "cache/base/error.hpp"

namespace tilewright {
namespace {

// Far above any shipped file. A window is limited by zstd's own bound for readers, 128 MiB.
constexpr unsigned long long kMost = 1ULL << 30;

Error not_written(const std::filesystem::path& to, const std::filesystem::path& from) {
  return Error(
      fmt::format("cannot write {}, made of {}. Free space there (df -h), or name another place for temporary "
                  "files with TMPDIR=FOLDER",
                  to.string(), from.string()));
}

Error no_frame(const std::filesystem::path& file) {
  return Error(fmt::format("{} is not a whole zstd frame; pack a cache with `zstd -19 FILE`", file.string()));
}

void require_size(unsigned long long size, const std::filesystem::path& file) {
  if (size <= kMost) return;
  throw Error(
      fmt::format("{} is {} MiB unpacked; packed files are read up to {} MiB unpacked; unpack it with `zstd -d {}`",
                  file.string(), size >> 20, kMost >> 20, file.string()));
}

/// Hands the content of a frame to `take`, block by block.
template <class Take>
void read_frame(const std::filesystem::path& frame, Take take) {
  std::ifstream from(frame, std::ios::binary);
  if (!from)
    throw Error(fmt::format("cannot read {0}. See whether it exists and may be read (ls -l {0})", frame.string()));
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (context == nullptr) throw std::bad_alloc();
  std::vector<char> in(ZSTD_DStreamInSize()), out(ZSTD_DStreamOutSize());
  unsigned long long written = 0;
  std::size_t left = 1;  // 0: the frame has ended
  while (from.read(in.data(), static_cast<std::streamsize>(in.size())), from.gcount() > 0) {
    ZSTD_inBuffer read{in.data(), static_cast<std::size_t>(from.gcount()), 0};
    const unsigned long long claimed = written == 0 ? ZSTD_getFrameContentSize(in.data(), read.size) : 0;
    if (claimed != ZSTD_CONTENTSIZE_UNKNOWN && claimed != ZSTD_CONTENTSIZE_ERROR) require_size(claimed, frame);
    // A block that fills `out` may be followed by another without further input.
    for (std::size_t filled = 0; read.pos < read.size || filled == out.size();) {
      if (left == 0) throw no_frame(frame);
      ZSTD_outBuffer block{out.data(), out.size(), 0};
      left = ZSTD_decompressStream(context.get(), &block, &read);
      if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation) throw std::bad_alloc();
      if (ZSTD_isError(left) != 0) throw no_frame(frame);
      filled = left == 0 ? 0 : block.pos;
      require_size(written += block.pos, frame);
      take(std::string_view(out.data(), block.pos));
    }
  }
  if (left != 0) throw no_frame(frame);
}

}  // namespace

std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    throw Error(fmt::format("cannot read {0}. See whether it exists and may be read (ls -l {0})", file.string()));
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string unpacked(const std::filesystem::path& frame) {
  std::string content;
  read_frame(frame, [&](std::string_view block) { content += block; });
  return content;
}

void unpack_file(const std::filesystem::path& frame, const std::filesystem::path& to) {
  std::ofstream unpacked(to, std::ios::binary);
  read_frame(frame, [&](std::string_view block) {
    if (!unpacked.write(block.data(), static_cast<std::streamsize>(block.size()))) throw not_written(to, frame);
  });
  if (!unpacked.flush()) throw not_written(to, frame);
}

void pack_file(const std::filesystem::path& file, const std::filesystem::path& to) {
  // As zstd --ultra -22 --long=27: a window larger than most contents, which all readers open without an option.
  constexpr int kLevel = 22;
  constexpr int kMostWindowLog = 27;
  const std::string content = content_of(file);
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  if (context == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog,
                         std::clamp(static_cast<int>(std::bit_width(content.size())), 10, kMostWindowLog));
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_enableLongDistanceMatching, 1);
  std::string frame(ZSTD_compressBound(content.size()), '\0');
  const std::size_t size = ZSTD_compress2(context.get(), frame.data(), frame.size(), content.data(), content.size());
  if (ZSTD_isError(size) != 0) {
    throw Error(fmt::format("cannot pack {}: {}", file.string(), ZSTD_getErrorName(size)));
  }
  frame.resize(size);
  if (!(std::ofstream(to, std::ios::binary) << frame).flush()) throw not_written(to, file);
}

}  // namespace tilewright
