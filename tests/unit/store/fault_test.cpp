// SPDX-License-Identifier: Apache-2.0
// The faults that a file can have: their messages, and that the files stay as they are.
#include "cache/store/sqlite/faults.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <thread>

#include "tests/other_program.hpp"
#include "tests/unit/store/fixture.hpp"

namespace tilewright::fault_test {
namespace {

namespace fs = std::filesystem;
using namespace store_tests;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

StoreOptions quick(StoreAccess access) { return {access, std::chrono::milliseconds(100)}; }

/// Opens for both kinds of access; expects the same refusal and an unchanged folder.
void expect_refused(const TemporaryFolder& folder, const fs::path& path, const std::string& reason,
                    const std::string& advice) {
  const auto before = folder.content();
  for (const auto access : {StoreAccess::write, StoreAccess::read}) {
    const std::string text = refusal([&] { const Store store(path, quick(access)); });
    EXPECT_THAT(text, StartsWith("cannot open the cache: the cache " + path.string() + " "));
    EXPECT_THAT(text, HasSubstr(reason));
    EXPECT_THAT(text, HasSubstr(advice));
    EXPECT_EQ(folder.content(), before) << "touched";
  }
}

TEST(Fault, a_text_file_is_not_a_cache) {
  const TemporaryFolder folder;
  const fs::path path = folder / "notes.txt";
  write_file(path, "Shopping: milk, bread and a great many other things.\n");
  expect_refused(folder, path, "is not a cache of Tilewright, nor any SQLite database", "mv " + path.string());
  write_file(path, std::string(100'000, 'x'));
  expect_refused(folder, path, "is not a cache", "TILEWRIGHT_CACHE=FILE");
}

TEST(Fault, a_bundle_whole_or_not_is_called_one) {
  const TemporaryFolder folder;
  const fs::path path = folder / "winners.bundle";
  write_file(path, "TWbundle" + std::string(100, '\1'));
  expect_refused(folder, path, "is a bundle, which applications open", "Name the cache that it was exported from");
}

TEST(Fault, a_truncated_cache_is_damaged_wherever_it_was_cut) {
  const TemporaryFolder folder;
  const fs::path path = folder / "c.db";
  make_export(path);
  const std::string whole = read_file(path);
  ASSERT_GT(whole.size(), 50'000u);
  for (const std::size_t size :
       {whole.size() - 1, whole.size() - 4096, whole.size() / 2, std::size_t{4096}, std::size_t{50}}) {
    write_file(path, whole.substr(0, size));
    expect_refused(folder, path, "is damaged", "Put a backup in its place");
  }
  // Shorter than the header that databases begin with.
  write_file(path, whole.substr(0, 10));
  expect_refused(folder, path, "is not a cache", "mv ");
}

TEST(Fault, a_cache_that_ends_within_a_page_is_damaged_though_sqlite_would_read_it) {
  const TemporaryFolder folder;
  const fs::path path = folder / "c.db";
  make_export(path);
  write_file(path, read_file(path) + std::string(100, 'x'));
  expect_refused(folder, path, "its last page has 100 of 4096 bytes", "Put a backup in its place");
}

TEST(Fault, a_truncated_cache_in_wal_mode_is_damaged_too) {
  const TemporaryFolder folder;
  const fs::path path = folder / "c.db";
  { Store store = prepared_store(path); }
  const std::string whole = read_file(path);
  write_file(path, whole.substr(0, whole.size() / 2));
  expect_refused(folder, path, "is damaged", "Put a backup in its place");
}

TEST(Fault, another_programs_database_is_left_alone) {
  const TemporaryFolder folder;
  const fs::path path = folder / "c.db";
  {
    SQLite::Database other(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec("CREATE TABLE photos (id); PRAGMA user_version = 3");
  }
  expect_refused(folder, path, "is an SQLite database of another program", "left as it is");
  {
    OtherProgram other(path);
    other.exec("PRAGMA application_id = 252006673");
  }
  expect_refused(folder, path, "application_id 0x0f055111", "left as it is");
}

TEST(Fault, a_folder_and_a_pipe_are_no_files) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "d.db");
  expect_refused(folder, folder / "d.db", "is a folder", (folder / "d.db" / "cache.db").string());
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const std::string text = refusal([&] { const Store store(folder / "pipe"); });
  EXPECT_THAT(text, HasSubstr("is not a regular file"));
}

TEST(Fault, each_is_of_a_kind) {
  const TemporaryFolder folder;
  const fs::path path = folder / "c.db";
  const auto kind = [&] {
    try {
      const Store store(path, quick(StoreAccess::read));
      store.check();
    } catch (const CacheError& error) {
      return error.kind();
    }
    return CacheFault::other;
  };
  EXPECT_EQ(kind(), CacheFault::missing);
  write_file(path, "");
  EXPECT_EQ(kind(), CacheFault::empty);
  write_file(path, std::string(10'000, 'x'));
  EXPECT_EQ(kind(), CacheFault::foreign);
  fs::remove(path);
  make_export(path);
  for (const auto& [schema, expected] : {std::pair("99", CacheFault::newer), {"1", CacheFault::older}}) {
    OtherProgram(path).exec(std::string("PRAGMA user_version = ") + schema);
    EXPECT_EQ(kind(), expected) << schema;
  }
  fs::remove(path);
  make_export(path);
  fs::resize_file(path, fs::file_size(path) - 1);
  EXPECT_EQ(kind(), CacheFault::damaged);
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_EQ(kind(), CacheFault::no_file);
}

TEST(Fault, an_empty_name_is_refused) {
  EXPECT_THAT(refusal([] { const Store store(""); }), HasSubstr("its name is empty"));
}

TEST(Fault, a_reader_of_nothing_is_told_how_to_make_a_cache) {
  const TemporaryFolder folder;
  const std::string text = refusal([&] { const Store store(folder / "x/c.db", quick(StoreAccess::read)); });
  EXPECT_EQ(text,
            "cannot open the cache: the cache " + (folder / "x/c.db").string() +
                " does not exist. Make it with `tilewright sweep OP`, or name another with TILEWRIGHT_CACHE=FILE.");
  EXPECT_FALSE(fs::exists(folder / "x"));
}

TEST(Fault, a_name_below_a_file_is_refused) {
  const TemporaryFolder folder;
  write_file(folder / "file", "x");
  EXPECT_THAT(refusal([&] { const Store store(folder / "file/c.db"); }), HasSubstr((folder / "file/c.db").string()));
  EXPECT_EQ(read_file(folder / "file"), "x");
}

TEST(Fault, a_read_only_file_or_folder_is_refused_for_writing_only) {
  const TemporaryFolder folder;
  const fs::path path = folder / "c.db";
  { Store store = prepared_store(path); }
  fs::permissions(path, fs::perms(0444));
  fs::permissions(folder.path(), fs::perms(0777));
  auto before = folder.content();
  EXPECT_EQ(as_nobody([&] {
              const std::string text = refusal([&] { const Store store(path); });
              return text.find("may not be written by this user. Give this user the right") != text.npos ? 0 : 1;
            }),
            0);
  EXPECT_EQ(folder.content(), before);
  fs::permissions(path, fs::perms(0666));
  fs::permissions(folder.path(), fs::perms(0555));
  before = folder.content();
  EXPECT_EQ(as_nobody([&] {
              const std::string there = refusal([&] { const Store store(path); });
              const std::string absent = refusal([&] { const Store store(folder / "new.db"); });
              const std::string deeper = refusal([&] { const Store store(folder / "a/new.db"); });
              const std::string expected = "stands in the folder " + folder.path().string();
              return there.find(expected) != there.npos && absent.find(expected) != absent.npos &&
                             deeper.find("cannot be made") != deeper.npos
                         ? 0
                         : 1;
            }),
            0);
  EXPECT_EQ(folder.content(), before);
  EXPECT_EQ(as_nobody([&] { return Store(path, quick(StoreAccess::read)).ops().size() == 1 ? 0 : 1; }), 0);
}

TEST(Fault, an_unreadable_file_is_refused_with_its_rights_to_check) {
  const TemporaryFolder folder;
  const fs::path path = folder / "c.db";
  make_export(path);
  fs::permissions(path, fs::perms(0000));
  EXPECT_EQ(as_nobody([&] {
              const std::string text = refusal([&] { const Store store(path, quick(StoreAccess::read)); });
              return text.find("cannot be opened") != text.npos && text.find("ls -la") != text.npos ? 0 : 1;
            }),
            0);
}

TEST(Fault, a_cache_that_is_locked_for_long_is_refused_after_the_wait_and_readable_meanwhile) {
  const TemporaryFolder folder;
  const fs::path path = folder / "c.db";
  Store store = prepared_store(path);
  OtherProgram other(path);
  other.exec("BEGIN IMMEDIATE");
  Store waiting(path, quick(StoreAccess::write));  // opening needs no lock
  const auto begin = std::chrono::steady_clock::now();
  const auto work = [&] { (void)waiting.put_trial(softmax_key(8, 100), "impl-1", full_trial(onchip_config(4))); };
  const std::string text = refusal(work);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(90));
  EXPECT_THAT(text, AllOf(StartsWith("cannot store a trial: the cache " + path.string()),
                          HasSubstr("has been locked by another process for 0.1 s"), HasSubstr("fuser -v")));
  EXPECT_EQ(waiting.counts().trials, 0);
  other.exec("COMMIT");
  work();
  EXPECT_EQ(waiting.counts().trials, 1);
}

TEST(Fault, a_writer_waits_for_another_that_ends_in_time) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  OtherProgram other(folder / "c.db");
  other.exec("BEGIN IMMEDIATE");
  std::thread ending([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    other.exec("COMMIT");
  });
  EXPECT_NO_THROW((void)store.put_trial(softmax_key(8, 100), "impl-1", full_trial(onchip_config(4))));
  ending.join();
}

TEST(Fault, damage_inside_is_named_by_check_and_by_whoever_reads_it) {
  const TemporaryFolder folder;
  const fs::path path = folder / "c.db";
  make_export(path);
  Store(path, quick(StoreAccess::read)).check();
  // Overwrites the page of the trials with noise.
  const int page =
      SQLite::Database(path.string()).execAndGet("SELECT rootpage FROM sqlite_schema WHERE name = 'trials'").getInt();
  std::string bytes = read_file(path);
  const std::size_t begin = 4096 * static_cast<std::size_t>(page - 1);
  for (std::size_t i = begin; i < begin + 4096; ++i) bytes[i] = static_cast<char>(i * 31);
  write_file(path, bytes);
  const Store store(path, quick(StoreAccess::read));
  const auto before = folder.content();
  const std::string text = refusal([&] { store.check(); });
  EXPECT_THAT(text, AllOf(StartsWith("cannot check the cache: the cache " + path.string() + " is damaged ("),
                          HasSubstr("mv " + path.string()), HasSubstr("sweep again")));
  EXPECT_THAT(refusal([&] { (void)store.list_winners({}); }), HasSubstr("is damaged"));
  EXPECT_EQ(folder.content(), before);
}

TEST(Fault, a_damaged_binary_is_never_returned) {
  const TemporaryFolder folder;
  const fs::path path = folder / "c.db";
  Store store = prepared_store(path);
  const std::vector<std::byte> binary(3000, std::byte{7});
  store.put_build({"key", true, "", {}, "", "NVRTC 13.0", "sm_90", 1}, binary);
  const std::string hash = store.build("key")->binary_hash;
  EXPECT_EQ(store.binary(hash), binary);
  OtherProgram other(path);
  other.exec("UPDATE binaries SET data = x'00112233'");
  EXPECT_THAT(refusal([&] { (void)store.binary(hash); }), AllOf(HasSubstr("is damaged (binary " + hash)));
  EXPECT_THAT(refusal([&] { store.check(); }), HasSubstr("binary " + hash));
  other.exec("UPDATE binaries SET data = (SELECT 1)");
  EXPECT_THROW((void)store.binary(hash), CacheError);
}

TEST(Fault, check_finds_rows_that_refer_to_nothing) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  put_winner(store, softmax_key(8, 100), onchip_config(4));
  OtherProgram other(folder / "c.db");
  other.exec("PRAGMA foreign_keys = OFF; DELETE FROM versions");
  EXPECT_THAT(refusal([&] { store.check(); }), HasSubstr("of the table trials refers to a row of versions"));
}

TEST(Fault, a_row_that_cannot_be_understood_is_damage_with_the_files_name) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  put_winner(store, softmax_key(8, 100), onchip_config(4));
  OtherProgram other(folder / "c.db");
  other.exec("UPDATE interfaces SET definition = '{'");
  EXPECT_THAT(refusal([&] { (void)store.interface_of("softmax"); }),
              AllOf(HasSubstr("cannot read an interface"), HasSubstr("is damaged")));
  other.exec("UPDATE configs SET text = 'onchip{'");
  EXPECT_THAT(refusal([&] { (void)store.list_winners({}); }), HasSubstr("is damaged"));
}

TEST(Fault, a_code_without_a_text_of_its_own_still_says_file_and_act) {
  OtherProgram database(":memory:");
  const SQLite::Exception refusal(database.getHandle(), SQLITE_MISMATCH);
  const CacheError error = fault("store a trial", "/x/c.db", refusal, std::chrono::seconds(10));
  EXPECT_THAT(error.what(), StartsWith("cannot store a trial: the cache /x/c.db was refused by SQLite ("));
}

}  // namespace
}  // namespace tilewright::fault_test
