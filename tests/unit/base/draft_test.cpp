// SPDX-License-Identifier: Apache-2.0
#include "cache/base/draft.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/temporary_folder.hpp"

namespace tilewright::draft_test {
namespace {

namespace fs = std::filesystem;

class DraftTest : public ::testing::Test {
 protected:
  static void put(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }
  static std::string text_of(const fs::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  [[nodiscard]] std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder), {}); }

  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path();
};

TEST_F(DraftTest, stands_in_its_place_once_it_is_put_there_and_is_gone_otherwise) {
  put(folder / "file", "older");
  {
    const Draft draft(folder / "file");
    put(draft.path(), "never");
    put(draft.path().string() + "-wal", "companion");
  }
  EXPECT_EQ(text_of(folder / "file"), "older");
  EXPECT_EQ(files(), 1);
  Draft draft(folder / "file");
  put(draft.path(), "newer");
  EXPECT_FALSE(draft.put_in_place());
  EXPECT_EQ(text_of(folder / "file"), "newer");
  EXPECT_EQ(files(), 1);
}

TEST_F(DraftTest, takes_no_file_of_another_for_its_own) {
  put(folder / "file.new", "of somebody");
  { const Draft draft(folder / "file"); }
  EXPECT_EQ(text_of(folder / "file.new"), "of somebody");
}

TEST_F(DraftTest, goes_where_links_lead_also_to_what_is_not_there_yet) {
  fs::create_directory(folder / "there");
  fs::create_symlink("second", folder / "first");
  fs::create_symlink(folder / "there" / "file", folder / "second");
  for (const char* text : {"made", "replaced"}) {
    Draft draft(folder / "first");
    EXPECT_EQ(draft.path().parent_path(), folder / "there");
    put(draft.path(), text);
    EXPECT_FALSE(draft.put_in_place());
    EXPECT_EQ(text_of(folder / "there" / "file"), text);
  }
  EXPECT_TRUE(fs::is_symlink(folder / "first"));
  EXPECT_TRUE(fs::is_symlink(folder / "second"));
}

TEST_F(DraftTest, ends_where_links_lead_in_a_circle) {
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  const Draft draft(folder / "a");
  EXPECT_EQ(draft.path().parent_path(), folder);
}

TEST_F(DraftTest, of_a_copy_replaces_the_file_or_leaves_it_as_it_was) {
  put(folder / "from", "newer");
  put(folder / "to", "older");
  EXPECT_EQ(copy_into_place(folder / "none", folder / "to"), std::errc::no_such_file_or_directory);
  EXPECT_EQ(text_of(folder / "to"), "older");
  EXPECT_EQ(copy_into_place(folder / "from", folder / "nowhere" / "to"), std::errc::no_such_file_or_directory);
  EXPECT_FALSE(copy_into_place(folder / "from", folder / "to"));
  EXPECT_EQ(text_of(folder / "to"), "newer");
  EXPECT_EQ(files(), 2);
}

TEST(WhyNotWritten, says_the_reason_and_what_to_do) {
  const auto why = [](std::errc error) { return why_not_written("some/where/x.csv", std::make_error_code(error)); };
  EXPECT_EQ(why(std::errc::no_such_file_or_directory),
            "its folder some/where does not exist. Make it (mkdir -p some/where), or name another file.");
  EXPECT_NE(why(std::errc::permission_denied).find("may not write in the folder some/where"), std::string::npos);
  EXPECT_NE(why(std::errc::no_space_on_device).find("df -h some/where"), std::string::npos);
  EXPECT_NE(why(std::errc::is_a_directory).find("it is a folder"), std::string::npos);
  EXPECT_NE(why(std::errc::not_a_directory).find("some/where is not a folder"), std::string::npos);
  EXPECT_NE(why(std::errc::io_error).find("Check the folder some/where"), std::string::npos);
  EXPECT_NE(why_not_written("x", std::make_error_code(std::errc::permission_denied)).find("ls -ld ."),
            std::string::npos);
}

}  // namespace
}  // namespace tilewright::draft_test
