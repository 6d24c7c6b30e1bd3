// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/recording_file.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "cache/base/error.hpp"
#include "tuner/process/temporary_folder.hpp"

namespace tilewright {
namespace {

// Far above any that is shipped: a broken size takes no memory.
constexpr unsigned long long kMost = 1ULL << 30;

std::string unpack(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error(fmt::format("cannot read {}", file.string()));
  const std::string frame{std::istreambuf_iterator<char>(stream), {}};
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  // Neither "unknown" nor "no frame" is below it.
  if (size <= kMost) {
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

Store open_recording(const std::filesystem::path& file) {
  if (file.extension() != ".zst") return Store(file, {.access = StoreAccess::copy});
  const TemporaryFolder folder("unpack a cache");
  const std::filesystem::path unpacked = folder.path() / "unpacked.db";
  if (!(std::ofstream(unpacked, std::ios::binary) << unpack(file)).flush()) {
    throw Error(fmt::format("cannot write {}, into which {} was to be unpacked", unpacked.string(), file.string()));
  }
  return Store(unpacked, {.access = StoreAccess::copy});
}

}  // namespace tilewright
