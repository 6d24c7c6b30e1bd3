// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/Database.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cache/base/file_facts.hpp"
#include "cache/store/sqlite/access.hpp"
#include "cache/store/sqlite/guard.hpp"
#include "cache/store/sqlite/schema.hpp"
#include "cache/store/sqlite/statements.hpp"
#include "cache/store/sqlite/transaction.hpp"

/// One open cache file: its opening for each kind of access, its statements and its transactions. It knows nothing of
/// the tables. For one thread at a time; several Databases may have one file open, in one process or in many.
namespace tilewright {

/// How a file is opened for reading.
enum class ReadPlan : std::uint8_t {
  shared,     ///< as a writer would, but read-only: leaves no companion files behind
  follower,   ///< beside an existing -wal
  immutable,  ///< without locks and companion files: nobody can write it here
};
/// `wal`: the -wal exists; `writable`: the file and its folder may be written; `network`: several hosts share it.
[[nodiscard]] ReadPlan plan_reading(bool wal, bool writable, bool network) noexcept;

/// Parts that a test may replace.
struct Surroundings {
  std::span<const Migration> migrations = tilewright::migrations();
  /// If set, the file system is not asked.
  std::optional<std::optional<std::string_view>> network;
};

class Database {
 public:
  /// Throws CacheError for each fault that docs/cache.md lists under "Faults".
  Database(std::filesystem::path path, const StoreOptions& options, const Surroundings& surroundings = {});

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::chrono::milliseconds busy_timeout() const noexcept { return busy_timeout_; }
  [[nodiscard]] SQLite::Database& handle() noexcept { return *handle_; }

  /// Runs a statement (a literal), prepared at its first use. Throws SQLite::Exception.
  template <class... Values>
  [[nodiscard]] Query query(const char* sql, const Values&... values) {
    return Query(statements_.get(*handle_, sql), values...);
  }
  /// As `query`, for statements without rows.
  template <class... Values>
  void run(const char* sql, const Values&... values) {
    query(sql, values...).run();
  }
  [[nodiscard]] std::int64_t last_id() const { return handle_->getLastInsertRowid(); }

  /// Call this before each access, which may then cost all the work that a file of this size allows.
  void begin_access() noexcept { work_->renew(); }
  /// For an access that takes rows of another file, of `bytes` bytes: from now on it may cost the work for such a file.
  void work_as_of(std::uintmax_t bytes) { work_->copied(bytes); }

  /// A write transaction: rolled back at the end of the scope unless committed. It takes the lock at once: a
  /// transaction that reads first and locks later is refused, without a wait, if another wrote in between.
  [[nodiscard]] Transaction begin_write();
  /// A read transaction, for answers from several statements: all see one state. Null inside another transaction, which
  /// sees one state already.
  [[nodiscard]] std::unique_ptr<Transaction> begin_read();
  /// Turns a file in WAL mode into one file without companions. Nothing may be written through this object afterwards.
  void seal();
  /// Writes the content as a new, compact file; this one stays as it is.
  void write_compact(const std::filesystem::path& file);

  /// True if the path no longer names the open file: only opening again shows the new one.
  [[nodiscard]] bool outdated() const;
  /// True if the file was opened as immutable and has changed: reads since then may mix two states.
  [[nodiscard]] bool promise_broken() const { return immutable_ && outdated(); }
  /// Reopens the file for reading, in the way that fits it now. No Query may be alive. Throws as the constructor does.
  void reopen();
  /// The number of calls of reopen().
  [[nodiscard]] std::int64_t generation() const noexcept { return generation_; }

 private:
  /// Takes a newly opened database, before anything of the file is read.
  void hold(std::unique_ptr<SQLite::Database> opened);
  void open_for_reading();
  void open_copy();
  /// Opens for reading. Copies a file of an older schema, which can be opened only with `older_too_`.
  void open_current();
  void open_for_writing(StoreAccess access);
  void switch_to_wal();

  std::filesystem::path path_;
  std::chrono::milliseconds busy_timeout_;
  Surroundings surroundings_;
  /// A file of an older schema may be opened for reading, too: its copy is migrated.
  bool older_too_ = false;
  bool immutable_ = false;
  std::int64_t generation_ = 0;
  std::optional<FileIdentity> identity_;
  std::unique_ptr<WorkLimit> work_;  // before handle_, which asks it
  std::unique_ptr<SQLite::Database> handle_;
  StatementCache statements_;  // after handle_: statements go first
};

}  // namespace tilewright
