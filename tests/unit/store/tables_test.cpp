// SPDX-License-Identifier: Apache-2.0
#include "cache/store/sqlite/tables.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

namespace tilewright::tables_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TablesOfAFile : public ::testing::Test {
 protected:
  TablesOfAFile() {
    database.exec(
        "CREATE TABLE parents (id INTEGER PRIMARY KEY AUTOINCREMENT); "
        "CREATE TABLE children (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parents); "
        "CREATE TABLE sqlites (id INTEGER); ATTACH ':memory:' AS other; CREATE TABLE other.alone (id INTEGER); "
        "PRAGMA foreign_keys = ON");
  }
  [[nodiscard]] int checked() { return database.execAndGet("PRAGMA foreign_keys").getInt(); }

  SQLite::Database database{":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
};

TEST_F(TablesOfAFile, are_those_that_are_not_of_sqlite) {
  EXPECT_THAT(table_names(database), ElementsAre("children", "parents", "sqlites"));
  EXPECT_THAT(table_names(database, "other"), ElementsAre("alone"));
  EXPECT_THAT(table_names(database, "temp"), IsEmpty());
}

TEST_F(TablesOfAFile, may_refer_to_nothing_while_keys_are_off_and_that_is_found) {
  EXPECT_FALSE(broken_reference(database));
  EXPECT_THROW(database.exec("INSERT INTO children VALUES (3, 7)"), SQLite::Exception);
  {
    const ForeignKeysOff unchecked(database);
    EXPECT_EQ(checked(), 0);
    database.exec("INSERT INTO children VALUES (3, 7)");
  }
  EXPECT_EQ(checked(), 1);
  const auto broken = broken_reference(database);
  ASSERT_TRUE(broken);
  EXPECT_EQ(broken->table, "children");
  EXPECT_EQ(broken->text(), "row 3 of the table children refers to a row of parents that does not exist");
  EXPECT_FALSE(broken_reference(database, "other"));
}

}  // namespace
}  // namespace tilewright::tables_test
