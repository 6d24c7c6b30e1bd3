// SPDX-License-Identifier: Apache-2.0
#include "cache/store/bundle/container.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/unit/store/fixture.hpp"

namespace tilewright {
namespace {

using namespace store_tests;
using ::testing::HasSubstr;

class Container : public testing::Test {
 protected:
  /// A file with three values.
  std::string made() const {
    ContainerWriter writer;
    writer.put("a", "first");
    writer.put("b", std::string(1000, 'b'));
    writer.put("empty", "");
    writer.write(path);
    return read_file(path);
  }

  TemporaryFolder folder;
  std::filesystem::path path = folder / "x.bundle";
};

TEST_F(Container, gives_back_what_was_put) {
  made();
  const ContainerReader reader(path);
  EXPECT_EQ(reader.size(), 3U);
  EXPECT_EQ(reader.find_text("a"), "first");
  EXPECT_EQ(reader.find_text("b"), std::string(1000, 'b'));
  EXPECT_EQ(reader.find_text("empty"), "");
  EXPECT_EQ(reader.find("c"), std::nullopt);
  reader.check();
  EXPECT_TRUE(ContainerReader::is_one(path));
  EXPECT_FALSE(reader.changed());
}

TEST_F(Container, may_hold_nothing) {
  ContainerWriter().write(path);
  EXPECT_EQ(ContainerReader(path).find("a"), std::nullopt);
}

TEST_F(Container, keeps_the_value_put_last_and_leaves_no_draft) {
  ContainerWriter writer;
  writer.put("a", "first");
  writer.put("a", "second");
  writer.write(path);
  EXPECT_EQ(ContainerReader(path).find_text("a"), "second");
  EXPECT_EQ(folder.content().size(), 1U);
}

TEST_F(Container, is_the_same_file_for_the_same_values) {
  const std::string first = made();
  EXPECT_EQ(made(), first);
}

TEST_F(Container, cut_off_anywhere_is_refused) {
  const std::string whole = made();
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += bytes < 80 ? 1 : 37) {
    write_file(path, whole.substr(0, bytes));
    EXPECT_THAT(refusal([&] { (void)ContainerReader(path); }), HasSubstr("was not copied whole")) << bytes;
  }
  write_file(path, whole + "x");
  EXPECT_THAT(refusal([&] { (void)ContainerReader(path); }), HasSubstr("should have"));
}

TEST_F(Container, with_any_byte_changed_is_refused) {
  const std::string whole = made();
  for (std::size_t at = 0; at < whole.size(); at += at < 64 ? 1 : 29) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    write_file(path, damaged);
    EXPECT_THROW(ContainerReader(path).check(), CacheError) << at;
  }
}

TEST_F(Container, of_a_newer_form_says_so) {
  std::string newer = made();
  newer[8] = 9;
  write_file(path, newer);
  EXPECT_THAT(refusal([&] { (void)ContainerReader(path); }),
              testing::AllOf(HasSubstr("has the form 9"), HasSubstr("newer Tilewright")));
}

TEST_F(Container, reads_only_what_is_asked_for_and_judges_it_then) {
  std::string damaged = made();
  damaged[64 + 5 + 500] = 'x';  // in the value of b
  write_file(path, damaged);
  const ContainerReader reader(path);
  EXPECT_EQ(reader.find_text("a"), "first");
  EXPECT_THAT(refusal([&] { (void)reader.find("b"); }), HasSubstr("1000 bytes at 69"));
}

TEST_F(Container, that_shrinks_while_it_is_open_is_an_error) {
  made();
  const ContainerReader reader(path);
  std::filesystem::resize_file(path, 100);
  EXPECT_THAT(refusal([&] { (void)reader.find("b"); }), HasSubstr("cut off"));
  EXPECT_TRUE(reader.changed());
}

TEST_F(Container, that_is_replaced_says_so_and_serves_what_it_was) {
  made();
  const ContainerReader reader(path);
  ContainerWriter other;
  other.put("a", "other");
  other.write(path);
  EXPECT_TRUE(reader.changed());
  EXPECT_EQ(reader.find_text("a"), "first");
}

TEST_F(Container, is_not_any_file) {
  write_file(path, std::string(200, 'n'));
  EXPECT_THAT(refusal([&] { (void)ContainerReader(path); }), HasSubstr("is not a bundle"));
  EXPECT_FALSE(ContainerReader::is_one(path));
  EXPECT_FALSE(ContainerReader::is_one(folder / "absent"));
  EXPECT_FALSE(ContainerReader::is_one(folder.path()));
  EXPECT_THAT(refusal([&] { (void)ContainerReader(folder / "absent"); }), HasSubstr("No such file"));
  EXPECT_THAT(refusal([&] { (void)ContainerReader(folder.path()); }), HasSubstr("is not a regular file"));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THROW((void)ContainerReader(folder / "pipe"), CacheError);
}

TEST_F(Container, that_cannot_be_written_changes_nothing) {
  const std::string before = made();
  ContainerWriter writer;
  writer.put("a", "other");
  EXPECT_THAT(refusal([&] { writer.write(folder / "no/such/folder/x"); }), HasSubstr("Nothing was written"));
  std::filesystem::create_directory(folder / "taken");
  EXPECT_THROW(writer.write(folder / "taken"), CacheError);
  EXPECT_FALSE(std::filesystem::exists(folder / "taken.new"));
  EXPECT_EQ(read_file(path), before);
}

}  // namespace
}  // namespace tilewright
