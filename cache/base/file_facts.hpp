// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

/// Facts of a cache file, asked of the file system with stat and access alone: no database file is opened here,
/// because closing any descriptor of it would drop the locks that SQLite holds on it in this process.
/// Functions without state, for any thread.
namespace tilewright {

/// "NFS", "SMB"… when `magic` (statfs::f_type) is of a file system that several hosts share: SQLite's WAL needs memory
/// shared between its users, which hosts cannot have. Nothing for a local one.
[[nodiscard]] std::optional<std::string_view> network_filesystem(std::int64_t magic) noexcept;

/// The same, of the file system that `path` (or, while it does not exist, its nearest existing folder) is on.
[[nodiscard]] std::optional<std::string_view> network_filesystem_of(const std::filesystem::path& path);

/// True when this process may write the file or create files in the folder.
[[nodiscard]] bool can_write(const std::filesystem::path& path) noexcept;

/// True when this process may read the file.
[[nodiscard]] bool can_read(const std::filesystem::path& path) noexcept;

/// True when users other than the owner may change what `path` holds: the file, its -wal, or its folder (by replacing
/// the file; a sticky folder such as /tmp is safe) is writable by all or by a group other than the owner's private one.
/// False when there is no such file. A cache holds code, so the launch library asks before it loads from it.
[[nodiscard]] bool writable_by_others(const std::filesystem::path& path);

/// Throws CacheError where others may change what `path` holds, unless that is allowed: its binaries would run as this
/// program's code.
void refuse_shared_cache(const std::filesystem::path& path, bool allowed);

/// Tells one file, and one state of it, from another.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;
  [[nodiscard]] bool same_file(const FileIdentity& other) const noexcept {
    return device == other.device && inode == other.inode;
  }
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
/// Nothing when there is no such file.
[[nodiscard]] std::optional<FileIdentity> identity_of(const std::filesystem::path& path) noexcept;

/// The folder that a file stands in; "." where its name has none.
[[nodiscard]] std::filesystem::path folder_of(const std::filesystem::path& path);

/// The file's write-ahead log, `PATH-wal`.
[[nodiscard]] std::filesystem::path wal_of(const std::filesystem::path& path);

}  // namespace tilewright
