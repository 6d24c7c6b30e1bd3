// SPDX-License-Identifier: Apache-2.0
// Files made to hang, mislead or exhaust the program that opens them.
#include "cache/store/sqlite/guard.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <array>

#include "cache/store/sqlite/database.hpp"
#include "cache/store/sqlite/faults.hpp"
#include "cache/store/sqlite/row_hash.hpp"
#include "tests/other_program.hpp"
#include "tests/unit/store/fixture.hpp"

namespace tilewright::guard_test {
namespace {

namespace fs = std::filesystem;
using namespace store_tests;
using ::testing::HasSubstr;

constexpr const char* kEndless = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT ";

/// A finished cache, then changed by `sql`.
fs::path changed_by(const TemporaryFolder& folder, const std::string& sql) {
  const fs::path path = folder / "c.db";
  fs::remove(path);
  make_export(path);
  OtherProgram(path).exec("PRAGMA legacy_alter_table = ON; " + sql);
  return path;
}

void expect_refused(const fs::path& path, const std::string& difference) {
  for (const StoreAccess access : {StoreAccess::read, StoreAccess::write, StoreAccess::copy, StoreAccess::read_older}) {
    const std::string text = refusal([&] { const Store store(path, {access, std::chrono::seconds(1)}); });
    EXPECT_THAT(text, HasSubstr("does not have the tables of schema")) << static_cast<int>(access);
    EXPECT_THAT(text, HasSubstr("the first that differs is the " + difference)) << static_cast<int>(access);
  }
}

TEST(Guard, refuses_a_table_that_is_an_endless_view) {
  const TemporaryFolder folder;
  for (const std::string table : {"devices", "interfaces", "implementations", "specs", "problems", "configs",
                                  "versions", "binaries", "builds", "trials", "winners", "ceilings", "loss_models"}) {
    SCOPED_TRACE(table);
    const fs::path path = changed_by(folder, "ALTER TABLE " + table + " RENAME TO away; CREATE VIEW " + table + " AS " +
                                                 kEndless + "i AS id, i AS hash FROM n");
    expect_refused(path, "");
  }
}

TEST(Guard, refuses_triggers_columns_and_views_that_are_not_ours) {
  const TemporaryFolder folder;
  expect_refused(changed_by(folder, "CREATE TRIGGER t AFTER INSERT ON trials BEGIN DELETE FROM winners; END"),
                 "trigger t");
  expect_refused(changed_by(folder, "ALTER TABLE trials ADD COLUMN x GENERATED ALWAYS AS (hex(reason))"),
                 "table trials");
  expect_refused(changed_by(folder, "DROP VIEW winner_table"), "view winner_table");
  expect_refused(changed_by(folder, "CREATE INDEX mine ON trials (reason)"), "index mine");
}

TEST(Guard, is_not_misled_by_what_looks_like_a_comment_in_a_text_or_a_name) {
  const TemporaryFolder folder;
  constexpr std::array kPlain{Migration{1, "001", "CREATE TABLE a (x TEXT DEFAULT 'whole', y TEXT)"}};
  const auto open_as = [&](const char* sql) {
    const fs::path path = folder / "a.db";
    fs::remove(path);
    const std::array theirs{Migration{1, "001", sql}};
    { const Database made(path, {}, Surroundings{theirs, {}}); }
    const Database opened(path, {StoreAccess::read}, Surroundings{kPlain, {}});
  };
  EXPECT_NO_THROW(open_as("CREATE TABLE \"a\" (x TEXT -- what it is\n  DEFAULT 'whole',\n\n y TEXT)"));
  EXPECT_THROW(open_as("CREATE TABLE a (x TEXT DEFAULT '--', z AS (1) DEFAULT '\nwhole', y TEXT)"), CacheError);
  EXPECT_THROW(open_as("CREATE TABLE a (x TEXT DEFAULT 'whole', \"--\" AS (1),\n y TEXT)"), CacheError);
}

TEST(Guard, knows_a_cache_by_the_words_of_its_last_step) {
  const TemporaryFolder folder;
  const auto is_known = [](const fs::path& path) {
    SQLite::Database file(path.string());
    add_row_functions(file);
    return has_tables_as_written(file, migrations().back());
  };
  EXPECT_TRUE(is_known(changed_by(folder, "VACUUM")));
  EXPECT_FALSE(is_known(changed_by(folder, "DROP VIEW winner_table")));
  EXPECT_FALSE(is_known(changed_by(folder, "CREATE INDEX mine ON trials (reason)")));
  EXPECT_FALSE(is_known(changed_by(folder, "ALTER TABLE trials ADD COLUMN x")));
  EXPECT_FALSE(is_known(changed_by(folder, "PRAGMA user_version = 6")));
}

TEST(Guard, takes_a_cache_that_SQLite_keeps_statistics_of) {
  const TemporaryFolder folder;
  const Store store(changed_by(folder, "ANALYZE"), {StoreAccess::read});
  EXPECT_GT(store.counts().winners, 0);
}

TEST(Guard, lets_nothing_of_the_file_run_or_change_its_tables_unseen) {
  const TemporaryFolder folder;
  Database database(changed_by(folder, "SELECT 1"), {});
  EXPECT_EQ(database.handle().execAndGet("PRAGMA trusted_schema").getInt(), 0);
  EXPECT_EQ(database.handle().execAndGet("PRAGMA cell_size_check").getInt(), 1);
  EXPECT_EQ(database.handle().execAndGet("PRAGMA mmap_size").getInt(), 0);
  database.handle().exec("PRAGMA writable_schema = ON");
  EXPECT_THROW(database.handle().exec("DELETE FROM sqlite_schema"), SQLite::Exception);
}

TEST(Guard, ends_a_question_that_has_no_end) {
  const TemporaryFolder folder;
  Database database(changed_by(folder, "SELECT 1"), {StoreAccess::read});
  static const std::string kCount = std::string(kEndless) + "count(*) FROM n";
  try {
    (void)database.query(kCount.c_str()).next();
    FAIL();
  } catch (const SQLite::Exception& refusal) {
    EXPECT_EQ(refusal.getErrorCode(), SQLITE_INTERRUPT);
    EXPECT_THAT(fault("read", database.path(), refusal, {}).what(),
                HasSubstr("more steps than any intact file of its size"));
  }
  database.begin_access();
  EXPECT_TRUE(database.query("SELECT count(*) FROM trials").next());
}

}  // namespace
}  // namespace tilewright::guard_test
