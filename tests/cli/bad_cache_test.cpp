// SPDX-License-Identifier: Apache-2.0
#include <SQLiteCpp/SQLiteCpp.h>

#include <fstream>
#include <iterator>

#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"
#include "tests/other_program.hpp"

namespace tilewright::testing {
namespace {

namespace fs = std::filesystem;

class BadCache : public CliTest {
 protected:
  static std::string bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Expects reading and writing verbs to exit with 1 and these words, and the file to stay as it is.
  void expect_refusal(const std::string& words) const {
    const std::string before = bytes_of(cache());
    for (const auto& verb :
         {std::vector<std::string>{"query", "demo", "rows=2", "cols=64"}, {"table", "demo"}, kSweep}) {
      const Outcome outcome = run_on_ops(verb);
      EXPECT_EQ(outcome.code, 1) << verb.front() << ": " << outcome.err;
      EXPECT_TRUE(contains(outcome.err, words)) << verb.front() << ": " << outcome.err;
      EXPECT_TRUE(contains(outcome.err, cache())) << verb.front() << ": " << outcome.err;
    }
    EXPECT_EQ(bytes_of(cache()), before);
  }

  [[nodiscard]] std::size_t trials() const {
    return static_cast<std::size_t>(Store(cache(), {.access = StoreAccess::read}).counts().trials);
  }
};

TEST_F(BadCache, that_is_a_text_file_is_refused_and_left_alone) {
  std::ofstream(cache()) << "shopping list: milk, bread, and a great many other things that no database begins with\n";
  expect_refusal("is not a cache of Tilewright");
}

TEST_F(BadCache, that_is_truncated_is_refused_and_left_alone) {
  fill_demo_cache(cache(), 200);
  fs::resize_file(cache(), fs::file_size(cache()) / 2);
  expect_refusal("damaged");
}

TEST_F(BadCache, that_is_newer_than_the_program_is_refused_and_left_alone) {
  fill_demo_cache(cache(), 2);
  {
    OtherProgram database(cache());
    database.exec("PRAGMA user_version = 99");
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  expect_refusal("has schema 99");
}

TEST_F(BadCache, of_an_older_schema_is_read_as_one_of_this_and_left_as_it_is) {
  fill_demo_cache(cache(), 3);
  const std::string older = (folder / "older.db").string();
  make_older_cache(cache(), older, 3);
  const std::string before = bytes_of(older);
  for (std::vector<std::string> verb : {std::vector<std::string>{"query", "demo", "rows=2", "cols=64"},
                                        {"table", "demo"},
                                        {"table", "demo", "--all"},
                                        {"table", "demo", "--by", "vec"},
                                        {"table", "demo", "--compare", "compiler=NVRTC 13.0", "compiler=NVRTC 13.0"},
                                        {"list"},
                                        {"export", "--csv", "-"}}) {
    verb.insert(verb.end(), {"--ops", TILEWRIGHT_TEST_OPS, "--cache"});
    std::vector<std::string> of_older = verb;
    verb.push_back(cache());
    of_older.push_back(older);
    const Outcome expected = run(verb);
    const Outcome outcome = run(of_older);
    EXPECT_EQ(outcome.code, expected.code) << verb[0] << outcome.err;
    EXPECT_EQ(outcome.out, expected.out) << verb[0];
    EXPECT_FALSE(contains(outcome.err, "schema")) << outcome.err;
  }
  EXPECT_EQ(bytes_of(older), before);
}

TEST_F(BadCache, of_another_program_is_refused_and_left_alone) {
  {
    SQLite::Database database(cache(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec("PRAGMA application_id = 1234; CREATE TABLE things (id INTEGER)");
  }
  expect_refusal("another program");
}

TEST_F(BadCache, that_is_a_folder_is_refused) {
  fs::create_directory(cache());
  const Outcome outcome = run_on_ops({"query", "demo", "rows=2", "cols=64"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "is a folder")) << outcome.err;
}

TEST_F(BadCache, that_is_read_only_is_read_and_not_written) {
  if (!nobody_can_run_the_program()) GTEST_SKIP() << "the user nobody cannot reach the program";
  fill_demo_cache(cache(), 2);
  fs::permissions(cache(), fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  fs::permissions(folder, fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  const RunOptions reader{.as_nobody = true};
  EXPECT_EQ(run_on_ops({"query", "demo", "rows=2", "cols=64"}, reader).code, 0);
  const Outcome outcome = run_on_ops(kSweep, reader);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "may not be written by this user")) << outcome.err;
  EXPECT_EQ(trials(), 2U);
}

TEST_F(BadCache, that_is_locked_for_long_is_waited_for_and_then_told) {
  use_swept_cache();
  const std::size_t before = trials();
  OtherProgram other(cache());
  other.exec("BEGIN IMMEDIATE");
  // Readers do not wait.
  EXPECT_EQ(run_on_ops({"query", "shift", "rows=2", "cols=33"}).code, 0);
  const Outcome outcome = run_on_ops(kSweep);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "has been locked by another process for 10 s")) << outcome.err;
  EXPECT_GE(outcome.seconds.count(), 9.0);
  other.exec("ROLLBACK");
  EXPECT_EQ(trials(), before);
}

// A limit on file sizes fails the same system call as a full disk.
TEST_F(BadCache, on_a_full_disk_loses_nothing_and_stays_readable) {
  use_swept_cache();
  const std::size_t before = trials();
  const std::size_t limit = fs::file_size(cache()) + 4096;
  std::vector<std::string> again = kSweep;
  again.emplace_back("--again");
  std::size_t after = before;
  Outcome outcome;
  // Each round extends the log until the limit.
  for (int round = 0; round < 40 && outcome.code != 1; ++round) {
    outcome = run_on_ops(again, {.most_file_bytes = limit});
    ASSERT_TRUE(outcome.code == 0 || outcome.code == 1) << outcome.code << outcome.err;
    const std::size_t now = trials();
    EXPECT_GE(now, after);
    after = now;
  }
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, cache())) << outcome.err;
  EXPECT_EQ(run_on_ops({"query", "shift", "rows=2", "cols=33"}).code, 0);
  EXPECT_NO_THROW(Store(cache(), {.access = StoreAccess::read}).check());
  // Without the limit the sweep goes on.
  EXPECT_EQ(run_on_ops(again).code, 0);
  EXPECT_GT(trials(), after);
}

}  // namespace
}  // namespace tilewright::testing
