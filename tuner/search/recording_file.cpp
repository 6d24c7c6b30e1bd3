// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/recording_file.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

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

/// A file of its own, gone with this.
class Unpacked {
 public:
  explicit Unpacked(const std::filesystem::path& packed) {
    const std::string content = unpack(packed);
    std::string name = (temporary_folder("unpack a cache") / "tilewright-unpacked-XXXXXX").string();
    const int made = ::mkstemp(name.data());
    if (made < 0) throw Error(fmt::format("cannot make a temporary file {} to unpack {}", name, packed.string()));
    ::close(made);
    file_ = name;
    if (!(std::ofstream(file_, std::ios::binary) << content).flush()) {
      throw Error(fmt::format("cannot write {}, into which {} was to be unpacked", name, packed.string()));
    }
  }
  ~Unpacked() {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

  [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }

 private:
  std::filesystem::path file_;
};

}  // namespace

Store open_recording(const std::filesystem::path& file) {
  if (file.extension() != ".zst") return Store(file, {.access = StoreAccess::copy});
  return Store(Unpacked(file).file(), {.access = StoreAccess::copy});
}

}  // namespace tilewright
