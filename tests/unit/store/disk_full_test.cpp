// SPDX-License-Identifier: Apache-2.0
// A disk that is full when a trial is committed: by SQLite's own limit, a small file system, or a limit on file sizes.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "cache/store/sqlite/database.hpp"
#include "cache/store/sqlite/faults.hpp"
#include "tests/unit/store/fixture.hpp"

namespace tilewright::disk_full_test {
namespace {

using namespace store_tests;
using ::testing::HasSubstr;

constexpr int kCannotMount = 77;

/// Puts trials until one is refused; returns the number kept. `text` gets the error. Long reasons make large rows.
int fill(Store& store, std::string& text) {
  Trial trial = full_trial(onchip_config(4));
  trial.status = TrialStatus::compile_failed;
  trial.reason = std::string(20'000, 'r');
  for (int stored = 0; stored < 1000; ++stored) {
    try {
      (void)store.put_trial(softmax_key(8, 100 + stored), "impl-1", trial);
    } catch (const CacheError& error) {
      text = error.what();
      return stored;
    }
  }
  return -1;
}

TEST(DiskFull, sqlites_refusal_is_said_as_a_full_disk_and_rolled_back) {
  const TemporaryFolder folder;
  Database database(folder / "c.db", {});
  database.handle().exec("PRAGMA max_page_count = 120");
  std::string text;
  int kept = 0;
  try {
    for (; kept < 1000; ++kept) {
      Transaction transaction = database.begin_write();
      database.run("INSERT INTO versions (driver, compiler, tilewright) VALUES (?, ?, '')", kept,
                   std::string(9000, 'v'));
      transaction.commit();
    }
  } catch (const SQLite::Exception& refusal) {
    const CacheError error = fault("store a trial", database.path(), refusal, database.busy_timeout());
    text = error.what();
    EXPECT_EQ(error.code(), SQLITE_FULL);
  }
  EXPECT_THAT(text, HasSubstr("cannot grow: the disk is full"));
  EXPECT_THAT(text, HasSubstr("df -h"));
  Query count = database.query("SELECT count(*) FROM versions");
  ASSERT_TRUE(count.next());
  EXPECT_EQ(count.integer(0), kept);
  EXPECT_GT(kept, 0);
}

TEST(DiskFull, on_a_small_file_system_what_was_stored_before_stays_and_more_room_lets_it_go_on) {
  const TemporaryFolder folder;
  const int code = wait_for(in_child([&] {
    // A private mount of this process: root may make one, a user in a user namespace.
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kCannotMount;
    (void)::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) return kCannotMount;
    std::string text;
    {
      Store store = prepared_store(folder / "c.db");
      const int kept = fill(store, text);
      if (kept < 5 || text.find("disk is full") == text.npos) return 1;
      // The same store can still read, and so can a second one.
      if (store.counts().trials != kept || Store(folder / "c.db", {StoreAccess::read}).counts().trials != kept)
        return 2;
      store.check();
    }
    {
      const Store again(folder / "c.db", {StoreAccess::read});
      again.check();
    }
    if (::mount("tmpfs", folder.path().c_str(), "tmpfs", MS_REMOUNT, "size=8m") != 0) return 3;
    Store store(folder / "c.db");
    const std::int64_t before = store.counts().trials;
    (void)store.put_trial(softmax_key(8, 7), "impl-1", full_trial(onchip_config(4)));
    store.check();
    return store.counts().trials == before + 1 ? 0 : 4;
  }));
  if (code == kCannotMount) GTEST_SKIP() << "this system does not let a test mount a file system of its own";
  EXPECT_EQ(code, 0);
}

TEST(DiskFull, a_file_that_may_not_grow_further_is_refused_and_stays_readable) {
  const TemporaryFolder folder;
  const int code = wait_for(in_child([&] {
    Store store = prepared_store(folder / "c.db");
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{400'000, 400'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::string text;
    const int kept = fill(store, text);
    if (kept < 2 || text.find("cannot store a trial") == text.npos) return 1;
    return store.counts().trials == kept ? 0 : 2;
  }));
  EXPECT_EQ(code, 0);
  Store store(folder / "c.db");
  store.check();
  EXPECT_GE(store.counts().trials, 2);
}

TEST(DiskFull, a_new_cache_on_a_full_disk_is_refused_and_can_be_made_later) {
  const TemporaryFolder folder;
  const int code = wait_for(in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{8192, 8192};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string text = refusal([&] { const Store store(folder / "c.db"); });
    return text.find("cannot open the cache") != text.npos ? 0 : 1;
  }));
  EXPECT_EQ(code, 0);
  EXPECT_EQ(Store(folder / "c.db").counts().schema, schema_version());
}

}  // namespace
}  // namespace tilewright::disk_full_test
