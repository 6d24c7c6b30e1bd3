// SPDX-License-Identifier: Apache-2.0
#include "cache/store/bundle/container.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "cache/base/draft.hpp"
#include "cache/base/error.hpp"
#include "cache/store/sqlite/first_bytes.hpp"

namespace tilewright {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is little-endian");

using Magic = std::array<char, 8>;
constexpr Magic kMagic = [] {
  Magic magic{};
  static_assert(kBundleMark.size() == magic.size());
  std::ranges::copy(kBundleMark, magic.begin());
  return magic;
}();
constexpr std::uint32_t kForm = 1;

/// The first bytes of the file. All forms keep magic and form where they are.
struct Header {
  Magic magic = kMagic;
  std::uint32_t form = kForm;
  std::uint32_t header_bytes = 64;
  std::uint64_t file_bytes = 0;
  std::uint64_t index_offset = 0;
  std::uint64_t entries = 0;
  std::array<std::uint64_t, 2> index_hash{};
  /// The hash of all fields above.
  std::uint64_t hash = 0;
};
static_assert(sizeof(Header) == 64 && std::is_trivially_copyable_v<Header>);
static_assert(sizeof(ContainerReader::Entry) == 40 && std::is_trivially_copyable_v<ContainerReader::Entry>);

using Entry = ContainerReader::Entry;

/// True in fuzz targets, which must reach the code behind the hashes. The macro is libFuzzer's own.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
constexpr bool kLooksPastHashes = true;
#else
constexpr bool kLooksPastHashes = false;
#endif

std::array<std::uint64_t, 2> hash_of(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::array<std::uint64_t, 2> hash_of(const std::string& key) { return hash_of(std::as_bytes(std::span(key))); }

std::uint64_t header_hash(const Header& header) { return XXH3_64bits(&header, offsetof(Header, hash)); }

bool by_key(const Entry& a, const Entry& b) { return a.key < b.key; }

CacheError refusal(const std::filesystem::path& file, std::string_view why, std::string_view advice) {
  return CacheError(fmt::format("cannot open the bundle: {} {}. {}.", file.string(), why, advice));
}

CacheError damage(const std::filesystem::path& file, std::string_view what) {
  return CacheError(
      fmt::format("cannot read the bundle: {} is damaged or was not copied whole ({}). Copy it again, or make it "
                  "again with `tilewright export --bundle`.",
                  file.string(), what));
}

template <class Value>
std::span<const std::byte> bytes_of(const Value& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

void ContainerWriter::put(const std::string& key, std::vector<std::byte> value) { values_[key] = std::move(value); }

void ContainerWriter::put(const std::string& key, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  put(key, std::vector<std::byte>(bytes.begin(), bytes.end()));
}

void ContainerWriter::write(const std::filesystem::path& file) const {
  std::vector<Entry> index;
  std::uint64_t end = sizeof(Header);
  for (const auto& [key, value] : values_) {
    index.push_back({hash_of(key), end, value.size(), XXH3_64bits(value.data(), value.size())});
    end += value.size();
  }
  std::ranges::sort(index, by_key);
  const auto index_bytes = std::as_bytes(std::span(index));
  Header header;
  header.index_offset = end;
  header.entries = index.size();
  header.file_bytes = end + index_bytes.size();
  header.index_hash = hash_of(index_bytes);
  header.hash = header_hash(header);

  Draft draft(file);
  const auto fail = [&](std::error_code error) {
    throw CacheError(fmt::format("cannot write the bundle {}: {} Nothing was written.", file.string(),
                                 why_not_written(file, error)));
  };
  constexpr mode_t kMode = 0644;
  const Descriptor to(::open(draft.path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  bool whole = to && to.write(bytes_of(header));
  for (const auto& [key, value] : values_) whole = whole && to.write(value);
  if (!whole || !to.write(index_bytes) || ::fsync(to.get()) != 0) fail({errno, std::generic_category()});
  ContainerReader(draft.path()).check();
  if (const std::error_code error = draft.put_in_place()) fail(error);
}

bool ContainerReader::is_one(const std::filesystem::path& file) {
  return first_bytes(file, kBundleMark.size()) == kBundleMark;
}

ContainerReader::ContainerReader(std::filesystem::path file)
    : file_(std::move(file)),
      identity_(identity_of(file_)),
      open_(::open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (!open_) {
    throw refusal(file_, fmt::format("cannot be opened ({})", std::strerror(errno)), "Name another file");
  }
  struct stat facts {};
  if (::fstat(open_.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    throw refusal(file_, "is not a regular file", "Name another file");
  }
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  Header header;
  if (size < sizeof header) throw damage(file_, fmt::format("it has {} bytes, fewer than a header", size));
  read(0, std::as_writable_bytes(std::span(&header, 1)));
  if (header.magic != kMagic) {
    throw refusal(file_, "is not a bundle of Tilewright", "Name a file that `tilewright export --bundle` made");
  }
  if (header.form > kForm) {
    throw refusal(file_, fmt::format("has the form {}, and this program knows forms up to {}", header.form, kForm),
                  "Use a newer Tilewright, or make the bundle again with this one");
  }
  if (header.form != kForm || (!kLooksPastHashes && header.hash != header_hash(header)))
    throw damage(file_, "its header");
  if (header.file_bytes != size) {
    throw damage(file_, fmt::format("it should have {} bytes and has {}", header.file_bytes, size));
  }
  if (header.index_offset < sizeof header || header.index_offset > size ||
      header.entries != (size - header.index_offset) / sizeof(Entry) ||
      (size - header.index_offset) % sizeof(Entry) != 0) {
    throw damage(file_, "its header");
  }
  index_.resize(header.entries);
  read(header.index_offset, std::as_writable_bytes(std::span(index_)));
  if (!kLooksPastHashes && hash_of(std::as_bytes(std::span(index_))) != header.index_hash)
    throw damage(file_, "its index");
  for (const Entry& each : index_) {
    if (each.offset > header.index_offset || each.bytes > header.index_offset - each.offset) {
      throw damage(file_, "its index");
    }
  }
}

void ContainerReader::read(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t got = ::pread(open_.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw damage(file_, std::strerror(errno));
    if (got == 0) throw damage(file_, "it was cut off while it was open");
    offset += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
}

const Entry* ContainerReader::entry(const std::string& key) const noexcept {
  const Entry wanted{hash_of(key), 0, 0, 0};
  const auto found = std::ranges::lower_bound(index_, wanted, by_key);
  return found != index_.end() && found->key == wanted.key ? &*found : nullptr;
}

template <class Bytes>
std::optional<Bytes> ContainerReader::find_as(const std::string& key) const {
  const Entry* const found = entry(key);
  if (found == nullptr) return std::nullopt;
  Bytes value(found->bytes, {});
  read(found->offset, std::as_writable_bytes(std::span(value)));
  if (!kLooksPastHashes && XXH3_64bits(value.data(), value.size()) != found->hash) {
    throw damage(file_, fmt::format("{} bytes at {}", found->bytes, found->offset));
  }
  return value;
}

std::optional<std::vector<std::byte>> ContainerReader::find(const std::string& key) const {
  return find_as<std::vector<std::byte>>(key);
}

std::optional<std::string> ContainerReader::find_text(const std::string& key) const {
  return find_as<std::string>(key);
}

void ContainerReader::check() const {
  for (const Entry& each : index_) {
    std::vector<std::byte> value(each.bytes);
    read(each.offset, value);
    if (XXH3_64bits(value.data(), value.size()) != each.hash) {
      throw damage(file_, fmt::format("{} bytes at {}", each.bytes, each.offset));
    }
  }
}

}  // namespace tilewright
