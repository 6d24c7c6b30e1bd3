// SPDX-License-Identifier: Apache-2.0
// How the program treats files that others made or may change (docs/security.md).
#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"
#include "tests/other_program.hpp"

namespace tilewright::testing {
namespace {

namespace fs = std::filesystem;

class Hostile : public CliTest {
 protected:
  /// Changes the demo's cache directly by SQL.
  void change(const std::string& sql) const {
    fill_demo_cache(cache(), 2);
    OtherProgram database(cache());
    database.exec("PRAGMA legacy_alter_table = ON; " + sql);
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }
};

TEST_F(Hostile, cache_that_others_may_write_is_read_and_runs_nothing) {
  use_swept_cache();
  fs::permissions(cache(), fs::perms::others_write, fs::perm_options::add);
  const std::vector<std::vector<std::string>> runs{
      kSweep, {"verify", "shift", "--device", "cpu"}, {"bench", "shift", "--device", "cpu"}};
  for (const auto& words : runs) {
    const Outcome outcome = run_on_ops(words);
    EXPECT_EQ(outcome.code, 1) << words.front() << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "can be changed by other users")) << words.front() << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "chmod go-w")) << words.front() << outcome.err;
  }
  EXPECT_EQ(run_on_ops({"query", "shift", "rows=2", "cols=33"}).code, 0);
  EXPECT_EQ(run_on_ops(kSweep, {.environment = {{"TILEWRIGHT_ALLOW_SHARED_CACHE", "1"}}}).code, 0);
}

TEST_F(Hostile, cache_of_endless_views_is_refused_at_once) {
  for (const std::string table : {"trials", "winners", "specs", "interfaces"}) {
    fs::remove(cache());
    change("ALTER TABLE " + table + " RENAME TO away; CREATE VIEW " + table +
           " AS WITH RECURSIVE n(id) AS (VALUES (1) UNION ALL SELECT id + 1 FROM n) SELECT id, id AS spec FROM n");
    const std::vector<std::vector<std::string>> verbs{
        {"import", cache(), "--cache", (folder / "own.db").string()}, {"query", "demo", "rows=2", "cols=64"}, {"list"}};
    for (std::vector<std::string> words : verbs) {
      if (words.front() != "import") words.insert(words.end(), {"--cache", cache()});
      const Outcome outcome = run(words);
      EXPECT_EQ(outcome.code, 1) << words.front() << outcome.err;
      EXPECT_TRUE(contains(outcome.err, "does not have the tables of schema")) << words.front() << outcome.err;
    }
  }
}

TEST_F(Hostile, names_and_reasons_of_a_cache_reach_no_terminal_raw) {
  change(
      "UPDATE versions SET compiler = 'NVRTC ' || char(27) || ']0;owned' || char(7) || char(155) || '31m'; "
      "UPDATE trials SET reason = 'fine' || char(27) || '[2J'");
  const std::vector<std::vector<std::string>> verbs{
      {"query", "demo", "rows=2", "cols=64"}, {"table", "demo"},        {"list", "demo"},
      {"show", "demo", "rows=2", "cols=64"},  {"export", "--csv", "-"}, {"export", "--jsonl", "-"}};
  bool is_shown = false;
  for (const auto& verb : verbs) {
    for (const char* format : {"text", "json", "csv", "markdown"}) {
      std::vector<std::string> words = verb;
      words.insert(words.end(), {"--cache", cache()});
      if (verb.front() != "export") words.insert(words.end(), {"--format", format});
      const Outcome outcome = run(words);
      const std::string all = outcome.out + outcome.err;
      EXPECT_EQ(all.find_first_of("\x1b\a"), std::string::npos) << verb.front() << ' ' << format << all;
      EXPECT_FALSE(contains(all, "\xc2\x9b")) << verb.front() << ' ' << format << all;
      is_shown = is_shown || contains(all, "\\u001b");
    }
  }
  EXPECT_TRUE(is_shown);
}

TEST_F(Hostile, name_of_a_file_reaches_no_terminal_raw) {
  const Outcome outcome = run({"query", "demo", "rows=2", "cols=64", "--cache", (folder / "no\x1b[31m.db").string()});
  EXPECT_FALSE(contains(outcome.err, "\x1b")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "no\\u001b[31m.db")) << outcome.err;
}

TEST_F(Hostile, definition_with_a_key_of_sixteen_thousand_names_is_a_mistake_with_its_place) {
  fs::create_directory(folder / "deep");
  std::string key = "a";
  for (int i = 0; i < 16'000; ++i) key += ".a";
  std::ofstream(folder / "deep/deep.toml") << key << " = 1\n";
  const Outcome outcome = run({"list", "--ops", folder.string()});
  EXPECT_TRUE(contains(outcome.out + outcome.err, "deep.toml:1:32: a key of more than 16 names"))
      << outcome.code << outcome.out << outcome.err;
}

}  // namespace
}  // namespace tilewright::testing
