// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

/// A transaction of a database: rolled back at the end of the scope unless committed. The rollback needs no memory.
/// SQLiteCpp's own prepares the rollback when it is needed, and ends the program if that fails.
namespace tilewright {

class Transaction {
 public:
  enum class Kind : bool { deferred, immediate };

  /// An immediate one takes the locks of a write at once, of attached files too. Throws SQLite::Exception.
  Transaction(SQLite::Database& database, Kind kind) : database_(database), rollback_(database, "ROLLBACK") {
    database_.exec(kind == Kind::immediate ? "BEGIN IMMEDIATE" : "BEGIN");
  }
  ~Transaction() {
    if (!is_committed_) static_cast<void>(rollback_.tryExecuteStep());
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// Throws SQLite::Exception.
  void commit() {
    database_.exec("COMMIT");
    is_committed_ = true;
  }

 private:
  SQLite::Database& database_;
  SQLite::Statement rollback_;
  bool is_committed_ = false;
};

}  // namespace tilewright
