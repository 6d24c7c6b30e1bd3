// SPDX-License-Identifier: Apache-2.0
#include "cache/store/columns.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "cache/store/codecs.hpp"
#include "cache/store/sqlite/migrations.hpp"
#include "cache/store/whole_file.hpp"
#include "tests/other_program.hpp"
#include "tests/unit/store/import_fixture.hpp"
#include "tests/unit/store/learned_fixture.hpp"

namespace tilewright::columns_test {
namespace {

using namespace store_tests;
using ::testing::HasSubstr;

class Columns : public testing::Test {
 protected:
  /// The columns of a cache with a winner, a spare, a failure and a model.
  [[nodiscard]] std::string columns() const {
    {
      Store store = prepared_store(cache_);
      put_best(store, key_, evidence(store, onchip_config(4)));
      store.put_trial(key_, "impl-1", wrong_trial(onchip_config(32)));
      put_spare(store, key_, onchip_config(2, 0));
      store.put_loss_model(key_, MeasureMode::cold, model_of_warps(4));
    }
    write_columns(cache_, file_);
    return read_file(file_);
  }
  /// The error of reading changed columns.
  [[nodiscard]] std::string refused(const std::string& columns) const {
    write_file(file_, columns);
    const TemporaryFolder folder;
    return refusal([&] { read_columns(read_file(file_), folder / "read.db"); });
  }

  const TemporaryFolder folder_{};
  const std::filesystem::path cache_ = folder_ / "c.db", file_ = folder_ / "columns";
  const ProblemKey key_ = softmax_key(8, 100);
};

TEST_F(Columns, bring_every_row_with_its_id_and_its_checksum) {
  (void)columns();
  read_columns(read_file(file_), folder_ / "read.db");
  const Store before(cache_), after(folder_ / "read.db");
  after.check();
  EXPECT_EQ(WholeFile::digest(after), WholeFile::digest(before));
  SQLite::Database rows((folder_ / "read.db").string(), SQLite::OPEN_READWRITE);
  rows.exec("ATTACH '" + cache_.string() + "' AS before");
  for (const char* const table : {"trials", "rounds", "winners", "binaries", "configs", "spares", "loss_models"}) {
    EXPECT_EQ(rows.execAndGet(std::string("SELECT count(*) FROM (SELECT rowid, checksum FROM main.") + table +
                              " EXCEPT SELECT rowid, checksum FROM before." + table + ")")
                  .getInt(),
              0)
        << table;
  }
}

TEST_F(Columns, keep_every_kind_of_value) {
  constexpr Migration kStep{1, "001_any", "CREATE TABLE any (id INTEGER PRIMARY KEY, value);"};
  const Surroundings any{std::span(&kStep, 1), {}};
  { const Database made(cache_, {}, any); }
  SQLite::Database before(cache_.string(), SQLite::OPEN_READWRITE);
  before.exec(
      "INSERT INTO any (value) VALUES (NULL), (0), (-1), (9223372036854775807), (-9223372036854775808), (0.1), (-0.0), "
      "(1e308), (1e-320), (''), ('text'), (x''), (x'00ff80'), (64), (zeroblob(300))");
  before.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  write_columns(cache_, file_, any);
  const std::string columns = read_file(file_);
  // This program's schema has no such table.
  EXPECT_THAT(refused(columns), HasSubstr("there is no 'any' in its schema"));
  read_columns(read_file(file_), folder_ / "read.db", any);
  before.exec("ATTACH '" + (folder_ / "read.db").string() + "' AS after");
  EXPECT_EQ(before
                .execAndGet("SELECT count(*) FROM main.any JOIN after.any USING (id) WHERE main.any.value IS "
                            "after.any.value AND typeof(main.any.value) = typeof(after.any.value)")
                .getInt(),
            15);
}

TEST_F(Columns, keep_the_order_of_rows_that_take_several_statements) {
  constexpr Migration kStep{1, "001_any", "CREATE TABLE any (id INTEGER PRIMARY KEY, value, other);"};
  const Surroundings any{std::span(&kStep, 1), {}};
  { const Database made(cache_, {}, any); }
  SQLite::Database before(cache_.string(), SQLite::OPEN_READWRITE);
  before.exec(
      "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 101) "
      "INSERT INTO any SELECT 3 * i, iif(i % 2, i / 7.0, 'text ' || i), -i FROM n; PRAGMA wal_checkpoint(TRUNCATE)");
  write_columns(cache_, file_, any);
  read_columns(read_file(file_), folder_ / "read.db", any);
  before.exec("ATTACH '" + (folder_ / "read.db").string() + "' AS after");
  EXPECT_EQ(
      before.execAndGet("SELECT count(*) FROM (SELECT * FROM main.any INTERSECT SELECT * FROM after.any)").getInt(),
      101);
  EXPECT_EQ(before.execAndGet("SELECT count(*) FROM after.any").getInt(), 101);
}

TEST_F(Columns, of_an_older_schema_are_brought_forward) {
  const Surroundings sixth{migrations().first(6), {}};
  {
    Database database(cache_, {}, sixth);
    database.run("INSERT INTO devices (fingerprint, compute_capability, facts) VALUES (?, 90, ?)", h200().fingerprint(),
                 encode_facts(h200()));
    database.run(
        "INSERT INTO requests (shape_key, device_fingerprint, count, first_at, last_at) VALUES ('s', 'd', 3, 1, 2)");
  }
  write_columns(cache_, file_, sixth);
  read_columns(read_file(file_), folder_ / "read.db");
  const Store store(folder_ / "read.db", {.access = StoreAccess::read});
  store.check();
  EXPECT_EQ(store.devices(), std::vector{h200()});
  EXPECT_EQ(store.list_misses(), (std::vector<Miss>{{"s", "d", 3, 1, 2}})) << "requests, before schema 7";
}

TEST_F(Columns, that_end_early_or_are_changed_are_refused) {
  const std::string whole = columns();
  EXPECT_THAT(refused(""), HasSubstr("it holds no columns"));
  EXPECT_THAT(refused("SQLite format 3"), HasSubstr("it holds no columns"));
  for (std::size_t size = 30; size < whole.size(); size += 997) {
    EXPECT_THAT(refused(whole.substr(0, size)), HasSubstr("is damaged")) << size;
  }
  std::string newer = whole;
  newer[std::string("tilewright columns 1\n").size()] = 100;
  EXPECT_THAT(refused(newer), HasSubstr("has schema 100, and this program"));
  std::string other = whole;
  other.replace(other.find("\6trials") + 1, 6, "tables");
  EXPECT_THAT(refused(other), HasSubstr("there is no 'tables' in its schema"));
  std::string mode = whole;
  mode.replace(mode.find("cold"), 4, "warm");
  EXPECT_THAT(refused(mode), HasSubstr("CHECK constraint failed"));
}

TEST_F(Columns, whose_rows_refer_to_none_are_refused) {
  (void)columns();
  OtherProgram(cache_).exec("DELETE FROM versions");
  write_columns(cache_, file_);
  EXPECT_THAT(refused(read_file(file_)), HasSubstr("refers to rows that do not exist"));
}

TEST_F(Columns, that_are_folded_bring_every_row) {
  const std::string whole = columns();
  Store to(folder_ / "to.db");
  WholeFile::fold(to, whole, std::string(64, 'a'), "a.pack", folder_ / "");
  to.check();
  EXPECT_EQ(WholeFile::digest(to), WholeFile::digest(Store(cache_)));
}

TEST_F(Columns, that_break_a_rule_are_not_folded_and_leave_the_cache_as_it_was) {
  const std::string whole = columns();
  Store to(folder_ / "to.db");
  const std::string digest = WholeFile::digest(to);
  const auto fold = [&](const std::string& columns) {
    return refusal([&] { WholeFile::fold(to, columns, std::string(64, 'a'), "a.pack", folder_ / ""); });
  };
  std::string mode = whole;
  mode.replace(mode.find("cold"), 4, "warm");
  EXPECT_THAT(fold(mode), HasSubstr("its rows are damaged (CHECK constraint failed"));
  EXPECT_EQ(WholeFile::digest(to), digest);
  for (std::size_t size = 30; size < whole.size(); size += 997) {
    EXPECT_THAT(fold(whole.substr(0, size)), HasSubstr("its rows are damaged")) << size;
  }
  const std::string until_tables = whole.substr(0, std::string("tilewright columns 1\n").size() + 1);
  for (const char columns : {'\0', '\x20'}) {
    EXPECT_THAT(fold(until_tables + "\1\7devices\1" + columns), HasSubstr("its rows are damaged (the table devices"));
  }
  OtherProgram(cache_).exec("DELETE FROM versions");
  write_columns(cache_, file_);
  EXPECT_THAT(fold(read_file(file_)), HasSubstr("refers to rows that do not exist"));
  EXPECT_EQ(WholeFile::digest(to), digest);
  EXPECT_EQ(to.counts().devices, 0) << "not even names";
  WholeFile::fold(to, whole, std::string(64, 'a'), "a.pack", folder_ / "");
  to.check();
  EXPECT_NE(WholeFile::digest(to), digest);
}

TEST_F(Columns, of_an_older_schema_are_folded) {
  const Surroundings sixth{migrations().first(6), {}};
  {
    Database database(cache_, {}, sixth);
    database.run("INSERT INTO devices (fingerprint, compute_capability, facts) VALUES (?, 90, ?)", h200().fingerprint(),
                 encode_facts(h200()));
  }
  write_columns(cache_, file_, sixth);
  Store to(folder_ / "to.db");
  WholeFile::fold(to, read_file(file_), std::string(64, 'a'), "a.pack", folder_ / "");
  EXPECT_EQ(to.devices(), std::vector{h200()});
}

}  // namespace
}  // namespace tilewright::columns_test
