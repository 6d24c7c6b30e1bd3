// SPDX-License-Identifier: Apache-2.0
#include "cache/store/sqlite/database.hpp"

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <cctype>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include "cache/store/sqlite/faults.hpp"
#include "cache/store/sqlite/migrations.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

/// Immutable files are opened by a URI; bytes that could have a meaning in one are escaped.
std::string immutable_uri(const fs::path& path) {
  std::string uri = "file:";
  for (const char c : fs::absolute(path).string()) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri + "?immutable=1";
}

/// Refuses a path that is not a regular file. Returns whether the file exists.
bool file_is_there(const fs::path& path) {
  if (path.empty()) {
    throw CacheError("cannot open the cache: its name is empty. Name a file with TILEWRIGHT_CACHE=FILE.", 0,
                     CacheFault::unnamed);
  }
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return false;
  if (error) {
    throw fault(kOpeningCache, path, fmt::format("cannot be reached ({})", error.message()),
                "Check the rights of the folders above it, or name another file with TILEWRIGHT_CACHE=FILE", 0,
                CacheFault::denied);
  }
  if (fs::is_directory(status)) {
    throw fault(kOpeningCache, path, "is a folder",
                fmt::format("Name a file, such as TILEWRIGHT_CACHE={}", (path / "cache.db").string()), 0,
                CacheFault::no_file);
  }
  if (!fs::is_regular_file(status)) {
    throw fault(kOpeningCache, path, "is not a regular file", "Name another file with TILEWRIGHT_CACHE=FILE", 0,
                CacheFault::no_file);
  }
  return true;
}

void make_folder(const fs::path& path) {
  std::error_code error;
  const fs::path folder = folder_of(path);
  if (fs::exists(folder, error)) return;
  // One by one, and not writable by a group: a cache that others could exchange is not launched from.
  fs::path made = folder.has_root_path() ? folder.root_path() : fs::path();
  for (const fs::path& part : folder.relative_path()) {
    made /= part;
    if (!fs::create_directory(made, error)) continue;
    fs::permissions(made, fs::perms::group_write | fs::perms::others_write, fs::perm_options::remove, error);
  }
  if (!fs::is_directory(folder)) {
    throw fault(kOpeningCache, path,
                fmt::format("needs the folder {}, which cannot be made ({})", folder.string(),
                            error ? error.message() : "something else stands there"),
                "Make it by hand (mkdir -p), or name a cache elsewhere with TILEWRIGHT_CACHE=FILE");
  }
}

[[noreturn]] void refuse_network(const fs::path& path, std::string_view filesystem) {
  throw fault(kOpeningCache, path,
              fmt::format("is on a network file system ({}), where several hosts could write it at once and damage it",
                          filesystem),
              "Name a file on a local disk with TILEWRIGHT_CACHE=FILE, and copy the finished cache here afterwards "
              "(sqlite3 FILE \".backup COPY\")");
}

std::unique_ptr<SQLite::Database> open_by(ReadPlan plan, const fs::path& path, int timeout) {
  if (plan == ReadPlan::immutable) {
    return std::make_unique<SQLite::Database>(immutable_uri(path),
                                              SQLite::OPEN_READONLY | SQLite::OPEN_URI | SQLite::OPEN_NOMUTEX, timeout);
  }
  const int access = plan == ReadPlan::follower ? SQLite::OPEN_READONLY : SQLite::OPEN_READWRITE;
  auto database = std::make_unique<SQLite::Database>(path.string(), access | SQLite::OPEN_NOMUTEX, timeout);
  if (plan == ReadPlan::shared) database->exec("PRAGMA query_only = ON");
  return database;
}

void require_readable(SQLite::Database& database, const fs::path& path, std::span<const Migration> steps,
                      bool older_too) {
  if (recognise(database, path, steps) == FileKind::empty) {
    throw fault(kOpeningCache, path, "is empty",
                "Fill it with `tilewright sweep OP`. If it was copied from a cache in use, its -wal was left behind: "
                "copy again with sqlite3 FILE \".backup COPY\"",
                0, CacheFault::empty);
  }
  if (const int schema = stored_schema(database); !older_too && schema < steps.back().version) {
    throw fault(kOpeningCache, path,
                fmt::format("has schema {} and this program reads schema {}", schema, steps.back().version),
                "Bring it forward by opening it once for writing: run `tilewright sweep` with it", 0,
                CacheFault::older);
  }
  require_our_tables(database, path, steps);
}

/// SQLite notices a cut-off page only when it reads that page.
void require_whole_pages(SQLite::Database& database, const fs::path& path) {
  const std::int64_t page = database.execAndGet("PRAGMA page_size").getInt64();
  const auto file = identity_of(path);
  if (!file || page <= 0 || file->size % page == 0) return;
  throw damage(kOpeningCache, path, fmt::format("its last page has {} of {} bytes", file->size % page, page),
               SQLITE_CORRUPT);
}

/// The bytes of the file and its log; 0 if neither exists.
std::uintmax_t bytes_at(const fs::path& path) {
  std::uintmax_t sum = 0;
  for (const fs::path& file : {path, wal_of(path)}) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(file, error);
    if (!error) sum += size;
  }
  return sum;
}

}  // namespace

ReadPlan plan_reading(bool wal, bool writable, bool network) noexcept {
  if (wal) return ReadPlan::follower;
  // A reader must not make a -wal and a -shm that the file's owner cannot write: they would lock the owner out.
  return writable && !network ? ReadPlan::shared : ReadPlan::immutable;
}

Database::Database(fs::path path, const StoreOptions& options, const Surroundings& surroundings)
    : path_(std::move(path)),
      busy_timeout_(options.busy_timeout),
      surroundings_(surroundings),
      older_too_(options.access == StoreAccess::copy || options.access == StoreAccess::read_older),
      work_(std::make_unique<WorkLimit>([path = path_] { return bytes_at(path); })) {
  try {
    if (may_write(options.access)) {
      open_for_writing(options.access);
      identity_ = identity_of(path_);
    } else if (options.access == StoreAccess::copy) {
      open_copy();
    } else {
      open_current();
    }
  } catch (const SQLite::Exception& refusal) {
    throw fault(kOpeningCache, path_, refusal, busy_timeout_);
  }
}

void Database::reopen() {
  statements_.clear();
  handle_.reset();
  ++generation_;
  try {
    open_current();
  } catch (const SQLite::Exception& refusal) {
    throw fault(kOpeningCache, path_, refusal, busy_timeout_);
  }
}

void Database::hold(std::unique_ptr<SQLite::Database> opened) {
  handle_ = std::move(opened);
  distrust(*handle_);
  work_->watch(*handle_);
}

void Database::open_for_reading() {
  if (!file_is_there(path_)) {
    throw fault(kOpeningCache, path_, "does not exist",
                "Make it with `tilewright sweep OP`, or name another with TILEWRIGHT_CACHE=FILE", 0,
                CacheFault::missing);
  }
  // Before the plan: a change after this moment is a change of the file about to be opened.
  identity_ = identity_of(path_);
  const auto network = surroundings_.network.value_or(network_filesystem_of(path_));
  const ReadPlan plan =
      plan_reading(fs::exists(wal_of(path_)), can_write(path_) && can_write(folder_of(path_)), network.has_value());
  if (network && plan == ReadPlan::follower) refuse_network(path_, *network);
  immutable_ = plan == ReadPlan::immutable;
  try {
    hold(open_by(plan, path_, static_cast<int>(busy_timeout_.count())));
    require_readable(*handle_, path_, surroundings_.migrations, older_too_);
    require_whole_pages(*handle_, path_);
  } catch (const SQLite::Exception& refusal) {
    if (plan != ReadPlan::follower || refusal.getErrorCode() != SQLITE_CANTOPEN || !can_read(path_)) throw;
    // The writer may have gone since the plan was made, and the log with it.
    if (!fs::exists(wal_of(path_))) return open_for_reading();
    throw fault(kOpeningCache, path_,
                fmt::format("has a log ({}-wal) that cannot be read without writing in the folder {}",
                            path_.filename().string(), folder_of(path_).string()),
                "Copy the cache where it may be written (sqlite3 FILE \".backup COPY\") and name the copy with "
                "TILEWRIGHT_CACHE=FILE",
                refusal.getExtendedErrorCode());
  }
}

void Database::open_current() {
  open_for_reading();
  if (stored_schema(*handle_) == surroundings_.migrations.back().version) return;
  // Closed first: with its log there, the second opening would be a follower and leave the log behind.
  handle_.reset();
  open_copy();
}

void Database::open_copy() {
  // If a file that was opened as immutable has changed, the data read is no state of it.
  for (int tries_left = 3; tries_left > 0; --tries_left) {
    open_for_reading();
    auto memory = std::make_unique<SQLite::Database>(
        ":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX);
    SQLite::Backup(*memory, *handle_).executeStep(-1);
    if (promise_broken()) continue;
    const std::int64_t bytes =
        memory->execAndGet("PRAGMA page_count").getInt64() * memory->execAndGet("PRAGMA page_size").getInt64();
    hold(std::move(memory));
    work_->copied(static_cast<std::uintmax_t>(bytes));
    immutable_ = false;
    identity_.reset();
    migrate(*handle_, path_, surroundings_.migrations);
    return;
  }
  throw fault(kOpeningCache, path_, "changes all the time in a folder that this user may not write",
              "Wait until it is written, then run the same again");
}

void Database::open_for_writing(StoreAccess access) {
  const bool there = file_is_there(path_);
  if (const auto network = surroundings_.network.value_or(network_filesystem_of(path_))) {
    refuse_network(path_, *network);
  }
  if (!there) make_folder(path_);
  // Checked first: SQLite opens an unwritable file for reading, and reports that only at the first write.
  if ((there && !can_write(path_)) || !can_write(folder_of(path_))) throw not_writable(kOpeningCache, path_);
  hold(std::make_unique<SQLite::Database>(path_.string(),
                                          SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX,
                                          static_cast<int>(busy_timeout_.count())));
  const FileKind kind = recognise(*handle_, path_, surroundings_.migrations);
  require_whole_pages(*handle_, path_);
  // A new file gets its tables before it becomes a WAL file, so that even a copy of the file alone is a cache.
  if (kind == FileKind::empty) {
    migrate(*handle_, path_, surroundings_.migrations);
  } else {
    require_our_tables(*handle_, path_, surroundings_.migrations);
  }
  if (access == StoreAccess::draft) {
    handle_->exec("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE");
  } else {
    switch_to_wal();
  }
  migrate(*handle_, path_, surroundings_.migrations);
  // In WAL mode NORMAL survives the death of any program; a power cut can cost the last commits, but not the file.
  if (access == StoreAccess::write) handle_->exec("PRAGMA synchronous = NORMAL");
  handle_->exec("PRAGMA foreign_keys = ON");
}

void Database::switch_to_wal() {
  // Only this switch does not wait for others by itself: two processes that make a file together collide here.
  const auto deadline = std::chrono::steady_clock::now() + busy_timeout_;
  while (true) {
    try {
      const std::string mode = handle_->execAndGet("PRAGMA journal_mode = WAL").getString();
      if (mode == "wal") return;
      throw fault(kOpeningCache, path_, fmt::format("is in journal mode '{}' and cannot be switched to WAL", mode),
                  "Move it to a local disk, or name another file with TILEWRIGHT_CACHE=FILE");
    } catch (const SQLite::Exception& refusal) {
      if (refusal.getErrorCode() != SQLITE_BUSY || std::chrono::steady_clock::now() >= deadline) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Transaction Database::begin_write() { return Transaction(*handle_, Transaction::Kind::immediate); }

std::unique_ptr<Transaction> Database::begin_read() {
  if (sqlite3_get_autocommit(handle_->getHandle()) == 0) return nullptr;
  return std::make_unique<Transaction>(*handle_, Transaction::Kind::deferred);
}

void Database::seal() {
  statements_.clear();
  // The order matters: VACUUM then writes to the file itself, which is on the disk when it returns.
  handle_->exec("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; VACUUM");
}

void Database::write_compact(const fs::path& file) {
  statements_.clear();
  SQLite::Statement vacuum(*handle_, "VACUUM INTO ?");
  vacuum.bind(1, file.string());
  vacuum.exec();
}

bool Database::outdated() const {
  const std::optional<FileIdentity> now = identity_of(path_);
  if (!now || !identity_) return false;
  if (!now->same_file(*identity_)) return true;
  if (!immutable_) return false;
  std::error_code error;
  return *now != *identity_ || fs::exists(wal_of(path_), error);
}

}  // namespace tilewright
