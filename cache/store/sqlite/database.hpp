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

/// One open cache file: how it is opened for each kind of access, its statements and its transactions. Knows nothing of
/// the tables. For one thread at a time; several Databases may have one file open, in one process or in many.
namespace tilewright {

/// The way in which a file that is only read is opened.
enum class ReadPlan : std::uint8_t {
  shared,     ///< as a writer would, for reading: leaves no companion files behind
  follower,   ///< beside a -wal that exists
  immutable,  ///< without locks and companion files: nobody can be writing it here
};
/// `wal` = the -wal exists; `writable` = the file and its folder may be written; `network` = several hosts share it.
[[nodiscard]] ReadPlan plan_reading(bool wal, bool writable, bool network) noexcept;

/// The parts that a test may replace.
struct Surroundings {
  std::span<const Migration> migrations = tilewright::migrations();
  /// Instead of asking the file system.
  std::optional<std::optional<std::string_view>> network;
};

class Database {
 public:
  /// Throws CacheError for everything that docs/cache.md lists under "Faults".
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

  /// To be called ahead of what is asked as a whole: it has all of the work that a file of this size may cost.
  void begin_access() noexcept { work_->renew(); }
  /// For one that takes rows of a file of so many bytes: it may cost the work of such a file from now on.
  void work_as_of(std::uintmax_t bytes) { work_->copied(bytes); }

  /// A write transaction: rolled back at the end of the scope unless committed. It takes the lock at once, since one
  /// that first reads and then asks for the lock is refused, and not made to wait, when another wrote in between.
  [[nodiscard]] Transaction begin_write();
  /// A read transaction, for answers made of several statements: all see one state. Null inside another transaction,
  /// which sees one state already.
  [[nodiscard]] std::unique_ptr<Transaction> begin_read();
  /// Makes of a file in WAL mode one file without companions; nothing is written through this object afterwards.
  void seal();
  /// The same as a new file: what is read of this one is written once.
  void write_compact(const std::filesystem::path& file);

  /// True when what is open is no longer what the path names, so that only opening again shows it.
  [[nodiscard]] bool outdated() const;
  /// True when the file was opened as immutable and is not: whatever was read since may be a mixture of two states.
  [[nodiscard]] bool promise_broken() const { return immutable_ && outdated(); }
  /// Opens the file for reading anew, in the way that fits it now. No Query may be alive. Throws as the constructor
  /// does.
  void reopen();
  /// How often reopen() was called.
  [[nodiscard]] std::int64_t generation() const noexcept { return generation_; }

 private:
  /// Takes what was just opened, before anything of the file is read.
  void hold(std::unique_ptr<SQLite::Database> opened);
  void open_for_reading();
  void open_copy();
  /// For reading; a copy where the file is of an older schema, which only those get this far with who may read such.
  void open_current();
  void open_for_writing(StoreAccess access);
  void switch_to_wal();

  std::filesystem::path path_;
  std::chrono::milliseconds busy_timeout_;
  Surroundings surroundings_;
  /// A file of an older schema may be opened for reading, too: its copy is brought forward.
  bool older_too_ = false;
  bool immutable_ = false;
  std::int64_t generation_ = 0;
  std::optional<FileIdentity> identity_;
  std::unique_ptr<WorkLimit> work_;  // before handle_, which asks it
  std::unique_ptr<SQLite::Database> handle_;
  StatementCache statements_;  // after handle_: statements go first
};

}  // namespace tilewright
