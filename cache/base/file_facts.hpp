// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

/// Facts of a cache file, from stat and access alone. No database file is opened: closing any descriptor of it would
/// drop the locks that SQLite holds on it in this process. Stateless functions, for any thread.
namespace tilewright {

/// "NFS", "SMB"… if `magic` (statfs::f_type) is a file system that several hosts share, else nullopt. SQLite's WAL
/// needs shared memory, which hosts do not have.
[[nodiscard]] std::optional<std::string_view> network_filesystem(std::int64_t magic) noexcept;

/// The same for the file system of `path`, or of its nearest existing folder if `path` does not exist.
[[nodiscard]] std::optional<std::string_view> network_filesystem_of(const std::filesystem::path& path);

/// True if this process may write the file or create files in the folder.
[[nodiscard]] bool can_write(const std::filesystem::path& path) noexcept;

[[nodiscard]] bool can_read(const std::filesystem::path& path) noexcept;

/// True if users other than the owner may change the content of `path`: the file, its -wal or its folder is writable by
/// all or by a group other than the owner's private one. A sticky folder such as /tmp is safe. False if the file does
/// not exist. A cache holds code, so the launch library checks this before it loads one.
[[nodiscard]] bool writable_by_others(const std::filesystem::path& path);

/// Throws CacheError if others may change `path` and `allowed` is false: its binaries run as this program's code.
void refuse_shared_cache(const std::filesystem::path& path, bool allowed);

/// Identifies a file and a state of it.
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
/// nullopt if the file does not exist.
[[nodiscard]] std::optional<FileIdentity> identity_of(const std::filesystem::path& path) noexcept;

/// The folder of a file; "." if the path has none.
[[nodiscard]] std::filesystem::path folder_of(const std::filesystem::path& path);

/// The file's write-ahead log, `PATH-wal`.
[[nodiscard]] std::filesystem::path wal_of(const std::filesystem::path& path);

}  // namespace tilewright
