// SPDX-License-Identifier: Apache-2.0
#include "cache/store/sqlite/database.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/store/fixture.hpp"

namespace tilewright::database_test {
namespace {

namespace fs = std::filesystem;
using namespace store_tests;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr StoreOptions kRead{StoreAccess::read, std::chrono::milliseconds(200)};
constexpr StoreOptions kWrite{StoreAccess::write, std::chrono::milliseconds(200)};

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  return names;
}

TEST(Database, reading_is_planned_by_what_stands_beside_the_file) {
  EXPECT_EQ(plan_reading(false, true, false), ReadPlan::shared);
  EXPECT_EQ(plan_reading(false, false, false), ReadPlan::immutable);
  EXPECT_EQ(plan_reading(false, true, true), ReadPlan::immutable);
  // With a -wal the file alone is incomplete: it is not opened as immutable.
  EXPECT_EQ(plan_reading(true, true, false), ReadPlan::follower);
  EXPECT_EQ(plan_reading(true, false, false), ReadPlan::follower);
  EXPECT_EQ(plan_reading(true, true, true), ReadPlan::follower);
}

TEST(Database, a_new_file_is_a_wal_database_of_ours_in_folders_made_for_it) {
  const TemporaryFolder folder;
  const fs::path path = folder / "a/b/c.db";
  Database database(path, kWrite);
  EXPECT_EQ(database.handle().execAndGet("PRAGMA journal_mode").getString(), "wal");
  EXPECT_EQ(database.handle().execAndGet("PRAGMA application_id").getInt(), 0x54775274);
  EXPECT_EQ(database.handle().execAndGet("PRAGMA foreign_keys").getInt(), 1);
  EXPECT_EQ(database.handle().execAndGet("PRAGMA synchronous").getInt(), 1);
}

TEST(Database, folders_it_makes_are_never_writable_by_a_group) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(0002);
  { const Database database(folder / "a/c.db", kWrite); }
  ::umask(before);
  EXPECT_EQ(fs::status(folder / "a").permissions() & (fs::perms::group_write | fs::perms::others_write),
            fs::perms::none);
  EXPECT_FALSE(writable_by_others(folder / "a/c.db"));
}

TEST(Database, the_file_alone_is_a_cache_while_its_first_writer_still_has_it_open) {
  const TemporaryFolder folder;
  const Database writer(folder / "c.db", kWrite);
  fs::copy_file(folder / "c.db", folder / "copy.db");
  const Store copy(folder / "copy.db", kRead);
  EXPECT_EQ(copy.counts().schema, schema_version());
}

TEST(Database, a_zero_length_file_is_new_for_a_writer_and_refused_by_a_reader) {
  const TemporaryFolder folder;
  write_file(folder / "c.db", "");
  EXPECT_THAT(refusal([&] { const Store store(folder / "c.db", kRead); }), HasSubstr("is empty"));
  EXPECT_EQ(fs::file_size(folder / "c.db"), 0u);
  { const Store store(folder / "c.db", kWrite); }
  EXPECT_EQ(Store(folder / "c.db", kRead).counts().schema, schema_version());
}

TEST(Database, a_reader_sees_what_a_live_writer_committed_and_nothing_else) {
  const TemporaryFolder folder;
  Store writer = prepared_store(folder / "c.db");
  const Store reader(folder / "c.db", kRead);
  EXPECT_EQ(reader.counts().trials, 0);
  (void)writer.put_trial(softmax_key(8, 100), "impl-1", full_trial(onchip_config(4)));
  EXPECT_EQ(reader.counts().trials, 1);
}

TEST(Database, a_reader_leaves_no_companion_files_behind) {
  const TemporaryFolder folder;
  { Store store = prepared_store(folder / "c.db"); }
  EXPECT_THAT(names_in(folder.path()), UnorderedElementsAre("c.db"));
  const auto before = folder.content();
  EXPECT_EQ(Store(folder / "c.db", kRead).ops().size(), 1u);
  EXPECT_EQ(folder.content(), before);
}

TEST(Database, a_reader_of_a_cache_whose_writer_died_sees_all_and_leaves_the_file_as_it_is) {
  const TemporaryFolder folder;
  EXPECT_EQ(wait_for(in_child([&]() -> int {
              Store store = prepared_store(folder / "c.db");
              put_winner(store, softmax_key(8, 100), onchip_config(4));
              ::_exit(0);  // like a crash: the -wal stays
            })),
            0);
  ASSERT_TRUE(fs::exists(folder / "c.db-wal"));
  const std::string file = read_file(folder / "c.db"), wal = read_file(folder / "c.db-wal");
  {
    const Store reader(folder / "c.db", kRead);
    EXPECT_EQ(reader.counts().winners, 1);
  }
  EXPECT_EQ(read_file(folder / "c.db"), file);
  EXPECT_EQ(read_file(folder / "c.db-wal"), wal);
}

TEST(Database, an_export_opens_in_a_read_only_folder_and_nothing_is_touched) {
  const TemporaryFolder folder;
  make_export(folder / "c.db");
  fs::permissions(folder / "c.db", fs::perms(0444));
  fs::permissions(folder.path(), fs::perms(0555));
  const auto before = folder.content();
  EXPECT_EQ(as_nobody([&] {
              const Store store(folder / "c.db", kRead);
              return store.winners(softmax_key(8, 100), MeasureMode::cold).size() == 1 ? 0 : 1;
            }),
            0);
  EXPECT_EQ(folder.content(), before);
}

TEST(Database, a_closed_wal_file_opens_in_a_read_only_folder_under_any_name) {
  const TemporaryFolder folder;
  const fs::path path = folder / "a ?b#c%20&d.db";
  {
    Store store = prepared_store(path);
    put_winner(store, softmax_key(8, 100), onchip_config(4));
  }
  fs::permissions(folder.path(), fs::perms(0555));
  EXPECT_EQ(as_nobody([&] {
              const Store store(path, kRead);
              return store.counts().winners == 1 ? 0 : 1;
            }),
            0);
}

TEST(Database, a_reader_who_may_not_write_does_not_lock_the_owner_out) {
  const TemporaryFolder folder;
  { Store store = prepared_store(folder / "c.db"); }
  fs::permissions(folder / "c.db", fs::perms(0644));
  fs::permissions(folder.path(), fs::perms(0777));
  EXPECT_EQ(as_nobody([&] {
              const Store store(folder / "c.db", kRead);
              return store.ops().size() == 1 ? 0 : 1;
            }),
            0);
  EXPECT_THAT(names_in(folder.path()), UnorderedElementsAre("c.db"));
}

TEST(Database, a_live_wal_file_is_read_by_one_who_may_not_write_its_folder) {
  const TemporaryFolder folder;
  Store writer = prepared_store(folder / "c.db");
  put_winner(writer, softmax_key(8, 100), onchip_config(4));
  fs::permissions(folder.path(), fs::perms(0555));
  EXPECT_EQ(as_nobody([&] {
              const Store store(folder / "c.db", kRead);
              return store.counts().winners == 1 ? 0 : 1;
            }),
            0);
}

TEST(Database, an_export_becomes_a_wal_file_when_it_is_written) {
  const TemporaryFolder folder;
  make_export(folder / "c.db");
  Store store(folder / "c.db", kWrite);
  EXPECT_TRUE(fs::exists(folder / "c.db-wal"));
  EXPECT_EQ(store.counts().winners, 1);
}

TEST(Database, a_network_file_system_is_refused_for_writing_before_anything_is_made) {
  const TemporaryFolder folder;
  const Surroundings on_nfs{migrations(), "NFS"};
  const std::string text = refusal([&] { const Database database(folder / "c.db", kWrite, on_nfs); });
  EXPECT_THAT(text, HasSubstr("network file system (NFS)"));
  EXPECT_THAT(text, HasSubstr("TILEWRIGHT_CACHE=FILE"));
  EXPECT_THAT(text, HasSubstr(".backup COPY"));
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(Database, an_export_on_a_network_file_system_is_read_and_a_live_file_is_not) {
  const TemporaryFolder folder;
  make_export(folder / "c.db");
  const Surroundings on_nfs{migrations(), "NFS"};
  Database reader(folder / "c.db", kRead, on_nfs);
  EXPECT_TRUE(reader.query("SELECT 1 FROM winners").next());
  write_file(folder / "c.db-wal", "");
  EXPECT_THAT(refusal([&] { const Database database(folder / "c.db", kRead, on_nfs); }), HasSubstr("network"));
}

TEST(Database, a_file_that_took_the_place_of_the_open_one_makes_it_outdated) {
  const TemporaryFolder folder;
  make_export(folder / "c.db");
  make_export(folder / "new.db");
  const Store reader(folder / "c.db", kRead);
  EXPECT_FALSE(reader.outdated());
  fs::rename(folder / "new.db", folder / "c.db");
  EXPECT_TRUE(reader.outdated());
}

TEST(Database, a_file_opened_as_unchanging_is_outdated_when_it_changes) {
  const TemporaryFolder folder;
  make_export(folder / "c.db");
  const Database reader(folder / "c.db", kRead, Surroundings{migrations(), "NFS"});
  EXPECT_FALSE(reader.outdated());
  write_file(folder / "c.db-wal", "");
  EXPECT_TRUE(reader.outdated());
}

TEST(Database, one_who_may_not_write_reads_right_answers_while_the_owner_starts_and_ends_writing) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a second user, whom only root may become";
  const TemporaryFolder folder;
  const fs::path path = folder / "c.db";
  { Store store = prepared_store(path); }
  int to_reader[2], to_owner[2];
  ASSERT_EQ(::pipe(to_reader), 0);
  ASSERT_EQ(::pipe(to_owner), 0);
  char turn = 0;
  // Opened as immutable, since there is no -wal; then the owner writes, ends, and writes a second time.
  const pid_t reader = in_child([&] {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 98;
    const Store store(path, kRead);
    std::int64_t version = store.data_version();
    for (int winners = 0; winners < 4; ++winners) {
      if (store.counts().winners != winners) return 10 + winners;
      if (winners > 0 && store.data_version() == version) return 20 + winners;
      version = store.data_version();
      store.check();
      if (::write(to_owner[1], "x", 1) != 1 || ::read(to_reader[0], &turn, 1) != 1) return 97;
    }
    return 0;
  });
  ::close(to_owner[1]);  // so that the early end of a reader is detected
  const auto readers_turn_ends = [&] { return ::read(to_owner[0], &turn, 1) == 1; };
  const auto readers_turn_begins = [&] { return ::write(to_reader[1], "x", 1) == 1; };
  EXPECT_TRUE(readers_turn_ends());
  {
    Store owner(path);
    put_winner(owner, softmax_key(8, 1), onchip_config(4));
    EXPECT_TRUE(readers_turn_begins() && readers_turn_ends());
    put_winner(owner, softmax_key(8, 2), onchip_config(4));
  }
  EXPECT_TRUE(readers_turn_begins() && readers_turn_ends());
  Store owner(path);
  put_winner(owner, softmax_key(8, 3), onchip_config(4));
  EXPECT_TRUE(readers_turn_begins() && readers_turn_ends() && readers_turn_begins());
  EXPECT_EQ(wait_for(reader), 0);
}

TEST(Database, a_copied_log_in_a_read_only_folder_is_refused_with_the_way_out) {
  const TemporaryFolder folder;
  {
    Store store = prepared_store(folder / "c.db");
    fs::copy_file(folder / "c.db", folder / "copy.db");
    fs::copy_file(folder / "c.db-wal", folder / "copy.db-wal");
  }
  fs::permissions(folder.path(), fs::perms(0555));
  const auto before = folder.content();
  EXPECT_EQ(as_nobody([&] {
              const std::string text = refusal([&] { const Store store(folder / "copy.db", kRead); });
              return text.find("has a log (copy.db-wal) that cannot be read") != text.npos &&
                             text.find(".backup COPY") != text.npos
                         ? 0
                         : 1;
            }),
            0);
  EXPECT_EQ(folder.content(), before);
}

TEST(Database, statements_are_prepared_once_and_do_not_hold_a_snapshot) {
  const TemporaryFolder folder;
  Database database(folder / "c.db", kWrite);
  constexpr const char* kSql = "SELECT count(*) FROM sweeps";
  SQLite::Statement* first = nullptr;
  {
    Query query = database.query(kSql);
    ASSERT_TRUE(query.next());  // left half-read
    StatementCache statements;
    first = &statements.get(database.handle(), kSql);
    EXPECT_EQ(first, &statements.get(database.handle(), kSql));
  }
  Store other = prepared_store(folder / "c.db");
  (void)other.begin_sweep("sweep softmax", h200().fingerprint());
  Query query = database.query(kSql);
  ASSERT_TRUE(query.next());
  EXPECT_EQ(query.integer(0), 1);
}

TEST(Database, an_unfinished_write_is_rolled_back) {
  const TemporaryFolder folder;
  Database database(folder / "c.db", kWrite);
  {
    const Transaction transaction = database.begin_write();
    database.run("INSERT INTO versions (driver, compiler, tilewright) VALUES (1, 'a', 'b')");
  }
  EXPECT_FALSE(database.query("SELECT 1 FROM versions").next());
}

}  // namespace
}  // namespace tilewright::database_test
