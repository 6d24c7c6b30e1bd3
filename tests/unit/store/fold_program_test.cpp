// SPDX-License-Identifier: Apache-2.0
// tilewright_fold as the build runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>  // NOLINT(modernize-deprecated-headers): popen is POSIX
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "cache/store/pack/pack.hpp"
#include "tests/unit/store/import_fixture.hpp"

namespace tilewright::fold_program_test {
namespace {

namespace fs = std::filesystem;
using namespace store_tests;
using ::testing::HasSubstr;

class FoldProgram : public testing::Test {
 protected:
  struct Outcome {
    int code = -1;
    std::string said;
  };
  [[nodiscard]] Outcome run(const std::string& words) const {
    const std::string line = "TMPDIR='" + work_.path().string() + "' '" TILEWRIGHT_FOLD "' " + words + " 2>&1";
    std::FILE* pipe = ::popen(line.c_str(), "r");
    Outcome outcome;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) outcome.said += static_cast<char>(c);
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    return outcome;
  }
  /// Makes packs of a cache with a winner; returns their paths, quoted for a shell.
  [[nodiscard]] std::string packs() const {
    Store store = prepared_store(folder_ / "from.db");
    put_best(store, softmax_key(8, 100), evidence(store, onchip_config(4)));
    write_packs(store, folder_ / "packs", {}, {});
    return "'" + (folder_ / "packs").string() + "'/*.pack";
  }
  [[nodiscard]] std::string cache() const { return "'" + (folder_ / "out" / "c.db").string() + "' "; }

  const store_tests::TemporaryFolder folder_{};
  const store_tests::TemporaryFolder work_{};
};

TEST_F(FoldProgram, makes_one_file_of_packs_and_tells_how_far_it_is) {
  fs::create_directory(folder_ / "out");
  const Outcome outcome = run(cache() + packs());
  EXPECT_EQ(outcome.code, 0) << outcome.said;
  EXPECT_THAT(outcome.said, HasSubstr("c.db: 2 of 2 packs are folded"));
  const Store store(folder_ / "out" / "c.db", {.access = StoreAccess::read});
  store.check();
  EXPECT_TRUE(store.winner_of(softmax_key(8, 100), MeasureMode::cold, WinnerRole::best));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "out"), fs::directory_iterator()), 1);
  EXPECT_TRUE(work_.content().empty());
}

TEST_F(FoldProgram, leaves_what_is_there_where_a_pack_is_damaged) {
  fs::create_directory(folder_ / "out");
  write_file(folder_ / "out" / "c.db", "before");
  const std::string all = packs();
  write_file(fs::directory_iterator(folder_ / "packs")->path(), "changed");
  const Outcome outcome = run(cache() + all);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.said, HasSubstr("it is damaged, since the SHA-256 of its content is"));
  EXPECT_EQ(read_file(folder_ / "out" / "c.db"), "before");
}

TEST_F(FoldProgram, says_what_to_type_where_the_command_is_wrong) {
  for (const std::string& words : {std::string(), cache(), cache() + "file.db"}) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.said, HasSubstr("Type: tilewright_fold CACHE FOLDER/*.pack"));
  }
}

}  // namespace
}  // namespace tilewright::fold_program_test
