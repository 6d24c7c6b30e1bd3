// SPDX-License-Identifier: Apache-2.0
#include "cache/store/sqlite/faults.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <new>

#include "cache/base/file_facts.hpp"
#include "cache/store/sqlite/first_bytes.hpp"
#include "cache/store/sqlite/row_hash.hpp"

namespace tilewright {
namespace {

std::string seconds(std::chrono::milliseconds time) {
  return fmt::format("{:g} s", std::chrono::duration<double>(time).count());
}

}  // namespace

CacheError fault(std::string_view doing, const std::filesystem::path& path, std::string_view reason,
                 std::string_view advice, int code, CacheFault kind) {
  return CacheError(fmt::format("cannot {}: the cache {} {}. {}.", doing, path.string(), reason, advice), code, kind);
}

CacheError damage(std::string_view doing, const std::filesystem::path& path, std::string_view what, int code) {
  return fault(doing, path, fmt::format("is damaged ({})", what),
               fmt::format("It was left as it is. Put a backup in its place, or move it away (mv {0} {0}.damaged) and "
                           "sweep again",
                           path.string()),
               code, CacheFault::damaged);
}

CacheError not_writable(std::string_view doing, const std::filesystem::path& path, int code) {
  const bool file_refuses = std::filesystem::exists(path) && !can_write(path);
  return fault(doing, path,
               file_refuses ? "may not be written by this user"
                            : fmt::format("stands in the folder {}, which may not be written by this user",
                                          folder_of(path).string()),
               "Give this user the right (chmod u+w), or name a cache elsewhere with TILEWRIGHT_CACHE=FILE", code,
               CacheFault::not_written);
}

std::string name_another_file(const std::filesystem::path& path) {
  return fmt::format(
      "It was left as it is. Name another file with TILEWRIGHT_CACHE=FILE, or move this one away "
      "(mv {0} {0}.old)",
      path.string());
}

CacheError fault(std::string_view doing, const std::filesystem::path& path, const SQLite::Exception& refusal,
                 std::chrono::milliseconds busy_timeout) {
  const int code = refusal.getExtendedErrorCode();
  switch (refusal.getErrorCode()) {
    case SQLITE_NOTADB:
      if (first_bytes(path, kBundleMark.size()) == kBundleMark) {
        return fault(doing, path, "is a bundle, which applications open and this program does not",
                     "It was left as it is. Name the cache that it was exported from with TILEWRIGHT_CACHE=FILE", code,
                     CacheFault::foreign);
      }
      return fault(doing, path, "is not a cache of Tilewright, nor any SQLite database", name_another_file(path), code,
                   CacheFault::foreign);
    case SQLITE_ERROR:
      if (const std::string_view said = refusal.what(); said.starts_with(kDamagedRow)) {
        return damage(doing, path, said.substr(kDamagedRow.size()), SQLITE_CORRUPT);
      }
      break;
    case SQLITE_NOMEM:
      throw std::bad_alloc();
    case SQLITE_CORRUPT:
      return damage(doing, path, refusal.what(), code);
    case SQLITE_INTERRUPT:
      return damage(doing, path, "reading it takes more steps than any intact file of its size", code);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fault(doing, path, fmt::format("has been locked by another process for {}", seconds(busy_timeout)),
                   fmt::format("Wait for it to end, or see which one it is (fuser -v {}), then run the same again",
                               path.string()),
                   code, CacheFault::locked);
    case SQLITE_FULL:
      return fault(doing, path, "cannot grow: the disk is full",
                   fmt::format("Nothing of this write was kept; all earlier rows are. Free space on the disk of {} "
                               "(df -h shows it), then run the same again",
                               folder_of(path).string()),
                   code, CacheFault::full);
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return not_writable(doing, path, code);
    case SQLITE_CANTOPEN:
      return fault(doing, path,
                   fmt::format("or one of its companion files (-wal, -shm) cannot be opened ({})", refusal.what()),
                   fmt::format("Check the rights of the file and of its folder (ls -la {}), or name another cache with "
                               "TILEWRIGHT_CACHE=FILE",
                               folder_of(path).string()),
                   code, CacheFault::denied);
    case SQLITE_IOERR:
      if (code == SQLITE_IOERR_NOMEM) throw std::bad_alloc();
      return fault(doing, path, fmt::format("could not be read or written by the system ({})", refusal.what()),
                   fmt::format("Nothing of this write was kept. Check the disk of {} (df -h, dmesg), then run the same "
                               "again",
                               folder_of(path).string()),
                   code);
    default:
      break;
  }
  return fault(doing, path, fmt::format("was refused by SQLite ({}, code {})", refusal.what(), code),
               "Check the file with `tilewright doctor`", code, CacheFault::damaged);
}

}  // namespace tilewright
