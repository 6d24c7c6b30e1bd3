// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/base/descriptor.hpp"
#include "cache/base/file_facts.hpp"

/// The file format of a bundle: values that are found by their keys, written once and then only read. It does not know
/// the values' meaning. Numbers are little-endian; each line gives the byte at which its field begins:
///
///   0            "TWbundle"
///   8            form (32 bits): 1; a program refuses a form that it does not know
///   12           size of the header (32 bits): 64
///   16, 24, 32   size of the file, offset of the index, number of entries (64 bits each)
///   40           XXH3-128 of the index
///   56           XXH3-64 of the 56 bytes before
///   64           the values, one behind the other
///   the index    entries of 40 bytes, sorted: XXH3-128 of the key; offset, size and XXH3-64 of the value
namespace tilewright {

/// Collects values, then writes the file in one go. For one thread.
class ContainerWriter {
 public:
  /// A later value of the same key replaces the earlier one.
  void put(const std::string& key, std::vector<std::byte> value);
  void put(const std::string& key, std::string_view text);

  /// Writes the file under another name, syncs it and renames it, so that nobody sees a part of it. Replaces an
  /// existing file. Throws CacheError; nothing is changed then.
  void write(const std::filesystem::path& file) const;

 private:
  std::map<std::string, std::vector<std::byte>> values_;
};

/// An open container. Opening reads and checks header and index; each value is read on demand and checked by its hash.
/// Nothing is mapped: a file that is cut off meanwhile is an error, not a crash. For one thread at a time.
class ContainerReader {
 public:
  /// Throws CacheError if the file is missing, no container, of a newer form, cut off or damaged.
  explicit ContainerReader(std::filesystem::path file);
  ContainerReader(ContainerReader&&) noexcept = default;
  ContainerReader& operator=(ContainerReader&&) noexcept = default;

  /// True if the file begins as a bundle does.
  [[nodiscard]] static bool is_one(const std::filesystem::path& file);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_; }
  /// nullopt if there is no such key. Throws CacheError if the value is damaged.
  [[nodiscard]] std::optional<std::vector<std::byte>> find(const std::string& key) const;
  [[nodiscard]] std::optional<std::string> find_text(const std::string& key) const;
  [[nodiscard]] std::size_t size() const noexcept { return index_.size(); }
  /// True if another file has taken its place, or it was written to.
  [[nodiscard]] bool changed() const noexcept { return identity_of(file_) != identity_; }
  /// Reads and checks all values. Throws CacheError that names the damage.
  void check() const;

  /// A key's hash, and the place and hash of its value.
  struct Entry {
    std::array<std::uint64_t, 2> key{};
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t hash = 0;
  };

 private:
  template <class Bytes>
  [[nodiscard]] std::optional<Bytes> find_as(const std::string& key) const;
  [[nodiscard]] const Entry* entry(const std::string& key) const noexcept;
  void read(std::uint64_t offset, std::span<std::byte> into) const;

  std::filesystem::path file_;
  std::optional<FileIdentity> identity_;
  Descriptor open_;
  /// Sorted by key.
  std::vector<Entry> index_;
};

}  // namespace tilewright
