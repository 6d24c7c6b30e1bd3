// SPDX-License-Identifier: Apache-2.0
#include "cache/base/file_facts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "cache/base/error.hpp"

namespace tilewright {
namespace {

// From linux/magic.h, and from the file systems' own sources for those it lacks.
constexpr std::array<std::pair<std::int64_t, std::string_view>, 9> kNetworkFilesystems{{
    {0x6969, "NFS"},
    {0x517B, "SMB"},
    {0xFF534D42, "CIFS"},
    {0xFE534D42, "SMB"},
    {0x5346414F, "AFS"},
    {0x00C36400, "Ceph"},
    {0x0BD00BD0, "Lustre"},
    {0x47504653, "GPFS"},
    {0x19830326, "BeeGFS"},
}};

/// A group with its user's number holds that user alone: the "user private group" of most distributions, whose umask of
/// 002 makes files group-writable.
bool open_to_others(const struct stat& facts) noexcept {
  const bool private_group = facts.st_gid == facts.st_uid;
  return (facts.st_mode & S_IWOTH) != 0 || ((facts.st_mode & S_IWGRP) != 0 && !private_group);
}

/// Out of memory says nothing about the file.
void require_memory(const std::filesystem::filesystem_error& error) {
  if (error.code() == std::errc::not_enough_memory) throw std::bad_alloc();
}

}  // namespace

std::optional<std::string_view> network_filesystem(std::int64_t magic) noexcept {
  // f_type is signed and narrower on some machines, so only the low 32 bits are compared.
  for (const auto& [known, text] : kNetworkFilesystems) {
    if ((magic & 0xFFFFFFFF) == known) return text;
  }
  return std::nullopt;
}

std::optional<std::string_view> network_filesystem_of(const std::filesystem::path& path) try {
  std::filesystem::path existing = std::filesystem::absolute(path);
  struct statfs facts {};
  while (::statfs(existing.c_str(), &facts) != 0) {
    if (!existing.has_relative_path()) return std::nullopt;
    existing = existing.parent_path();
  }
  return network_filesystem(static_cast<std::int64_t>(facts.f_type));
} catch (const std::filesystem::filesystem_error& error) {
  require_memory(error);
  return std::nullopt;
}

bool can_write(const std::filesystem::path& path) noexcept {
  return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

bool can_read(const std::filesystem::path& path) noexcept {
  return ::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) == 0;
}

bool writable_by_others(const std::filesystem::path& path) try {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return false;
  if (open_to_others(facts)) return true;
  // A link and its file may stand in two folders. Whoever can write to either can exchange the file. SQLite's log lies
  // beside the file.
  for (const std::filesystem::path& name : {path, std::filesystem::canonical(path)}) {
    if (::stat(wal_of(name).c_str(), &facts) == 0 && open_to_others(facts)) return true;
    if (::stat(folder_of(name).c_str(), &facts) == 0 && open_to_others(facts) && (facts.st_mode & S_ISVTX) == 0) {
      return true;
    }
  }
  return false;
} catch (const std::filesystem::filesystem_error& error) {
  require_memory(error);
  return true;  // if it cannot be judged, it is not trusted
}

void refuse_shared_cache(const std::filesystem::path& path, bool allowed) {
  if (allowed || !writable_by_others(path)) return;
  throw CacheError(
      fmt::format("the cache {} can be changed by other users, and this program runs the kernels in it: take their "
                  "right to write it and its folder (chmod go-w), or allow it with TILEWRIGHT_ALLOW_SHARED_CACHE=1",
                  path.string()));
}

std::optional<FileIdentity> identity_of(const std::filesystem::path& path) noexcept {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return std::nullopt;
  return FileIdentity{static_cast<std::uint64_t>(facts.st_dev), static_cast<std::uint64_t>(facts.st_ino),
                      static_cast<std::int64_t>(facts.st_size),
                      static_cast<std::int64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 + facts.st_mtim.tv_nsec};
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

std::filesystem::path wal_of(const std::filesystem::path& path) {
  std::filesystem::path wal = path;
  wal += "-wal";
  return wal;
}

}  // namespace tilewright
