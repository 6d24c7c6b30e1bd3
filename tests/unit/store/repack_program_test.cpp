// SPDX-License-Identifier: Apache-2.0
// tilewright_repack as scripts/pack_winners and the build run it.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>  // NOLINT(modernize-deprecated-headers): popen is POSIX
#include <sys/wait.h>

#include <fstream>
#include <random>

#include "cache/store/store.hpp"
#include "tests/other_program.hpp"
#include "tests/unit/store/fixture.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using namespace store_tests;
using testing::AllOf;
using testing::HasSubstr;

class RepackProgram : public testing::Test {
 protected:
  struct Outcome {
    int code = -1;
    std::string said;
  };
  [[nodiscard]] Outcome run(const std::string& words) const {
    const std::string line = "TMPDIR='" + work.path().string() + "' '" TILEWRIGHT_REPACK "' " + words + " 2>&1";
    std::FILE* pipe = ::popen(line.c_str(), "r");
    Outcome outcome;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) outcome.said += static_cast<char>(c);
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    return outcome;
  }
  /// A cache with one binary that shrinks.
  void make_cache() const {
    Store store = prepared_store(path);
    store.put_build({"key", true, "", {}, "", "NVRTC 13.0", "sm_90a", 1}, binary);
    store.seal();
  }
  [[nodiscard]] std::string quoted() const { return "'" + path.string() + "'"; }

  const TemporaryFolder folder{};
  const TemporaryFolder work{};
  const fs::path path = folder / "c.db";
  const std::vector<std::byte> binary = [] {
    std::mt19937 random(7);
    std::vector<std::byte> bytes(300'000);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 7);
    return bytes;
  }();
};

TEST_F(RepackProgram, packs_plain_and_tight_and_leaves_one_file) {
  make_cache();
  const auto before = fs::file_size(path);
  const Outcome plain = run("plain " + quoted());
  EXPECT_EQ(plain.code, 0);
  EXPECT_EQ(plain.said, "");
  EXPECT_GT(fs::file_size(path), before + 100'000);
  EXPECT_EQ(run("tight " + quoted()).code, 0);
  EXPECT_LE(fs::file_size(path), before);
  EXPECT_EQ(folder.content().size(), 1U);
  EXPECT_TRUE(work.content().empty());
  const Store store(path, {.access = StoreAccess::read});
  EXPECT_EQ(store.binary(store.build("key").value().binary_hash), binary);
}

TEST_F(RepackProgram, says_what_to_type_where_the_command_is_wrong) {
  make_cache();
  const auto before = folder.content();
  for (const std::string& words : {std::string(), std::string("plain"), "fast " + quoted(), "plain x " + quoted()}) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2) << words;
    EXPECT_THAT(outcome.said, HasSubstr("Type: tilewright_repack plain|tight FILE"));
  }
  EXPECT_EQ(folder.content(), before);
}

TEST_F(RepackProgram, makes_no_file_where_there_is_none) {
  const Outcome outcome = run("plain " + quoted());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.said, AllOf(HasSubstr(path.string()), HasSubstr("there is no file of that name")));
  EXPECT_TRUE(folder.content().empty());
}

TEST_F(RepackProgram, leaves_a_file_alone_that_is_no_cache_or_is_cut) {
  make_cache();
  const std::string whole = read_file(path);
  for (const std::string& text : {std::string("Shopping: milk and bread.\n"), std::string(), whole.substr(0, 8192)}) {
    write_file(path, text);
    const Outcome outcome = run("tight " + quoted());
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.said, HasSubstr(path.string()));
    EXPECT_EQ(read_file(path), text);
    EXPECT_EQ(folder.content().size(), 1U);
    EXPECT_TRUE(work.content().empty());
  }
}

TEST_F(RepackProgram, names_the_file_and_the_damaged_binary) {
  make_cache();
  const std::string hash = Store(path, {.access = StoreAccess::read}).build("key").value().binary_hash;
  OtherProgram(path).exec("UPDATE binaries SET data = x'00112233'");
  const auto before = folder.content();
  const Outcome outcome = run("plain " + quoted());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.said, AllOf(HasSubstr(path.string()), HasSubstr("binary " + hash)));
  EXPECT_EQ(folder.content(), before);
}

TEST_F(RepackProgram, refuses_a_cache_in_use) {
  make_cache();
  const Store other(path);
  OtherProgram(path).exec("UPDATE builds SET log = 'seen'");
  const Outcome outcome = run("plain " + quoted());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.said, AllOf(HasSubstr("it is in use"), HasSubstr("-wal"), HasSubstr("VACUUM INTO")));
}

TEST_F(RepackProgram, refuses_a_cache_whose_writer_died) {
  make_cache();
  std::ofstream(path.string() + "-journal") << "half a transaction";
  const Outcome outcome = run("plain " + quoted());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.said, AllOf(HasSubstr("-journal"), HasSubstr("VACUUM INTO")));
}

}  // namespace
}  // namespace tilewright
