// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/toml_tree.hpp"

#include <gmock/gmock.h>

#include <chrono>

#include "cache/base/error.hpp"

namespace tilewright::reading {
namespace {

std::string at(Place place) { return std::to_string(place.line) + ":" + std::to_string(place.column); }

const Node& value_of(const Node& table, std::string_view key) {
  const Member* member = table.member(key);
  if (member == nullptr) throw std::logic_error("no such key");
  return member->value;
}

TEST(TomlTree, keeps_the_order_of_the_file) {
  const Node root = parse_toml("zeta = 1\nalpha = { c = 1, a = 2, b = 3 }\n", "f.toml");
  ASSERT_EQ(root.members.size(), 2U);
  EXPECT_EQ(root.members[0].key, "zeta");
  std::vector<std::string> keys;
  for (const Member& member : value_of(root, "alpha").members) keys.push_back(member.key);
  EXPECT_THAT(keys, testing::ElementsAre("c", "a", "b"));
}

TEST(TomlTree, knows_the_kind_and_value_of_every_type) {
  const Node root = parse_toml("t = 'x'\ni = -7\nr = 0.5\nb = true\nd = 2020-01-01\nl = [1, 2]\no = {}\n", "f.toml");
  EXPECT_EQ(value_of(root, "t").text, "x");
  EXPECT_EQ(value_of(root, "i").integer, -7);
  EXPECT_EQ(value_of(root, "r").real, 0.5);
  EXPECT_TRUE(value_of(root, "b").boolean);
  EXPECT_EQ(value_of(root, "d").kind, Node::Kind::date);
  EXPECT_EQ(value_of(root, "l").items.size(), 2U);
  EXPECT_EQ(value_of(root, "o").kind, Node::Kind::table);
  EXPECT_EQ(name(value_of(root, "r").kind), "a number with a fraction");
}

TEST(TomlTree, tells_the_place_of_a_key_of_its_value_and_of_the_text_inside_its_quotes) {
  const Node root = parse_toml("\n  key = \"abc\"\n", "f.toml");
  EXPECT_EQ(at(root.member("key")->place), "2:3");
  EXPECT_EQ(at(value_of(root, "key").place), "2:9");
  EXPECT_EQ(at(value_of(root, "key").content), "2:10");
}

TEST(TomlTree, counts_columns_in_characters) {
  const Node root = parse_toml("t = { a = 'ééé', b = 'x' }\n", "f.toml");
  EXPECT_EQ(at(value_of(value_of(root, "t"), "b").content), "1:23");
}

TEST(TomlTree, finds_the_first_character_of_texts_in_three_quotes) {
  const Node root = parse_toml("a = '''x'''\nb = \"\"\"\ny\"\"\"\nc = '''\r\nz'''\n", "f.toml");
  EXPECT_EQ(at(value_of(root, "a").content), "1:8");
  EXPECT_EQ(at(value_of(root, "b").content), "3:1");
  EXPECT_EQ(value_of(root, "b").text, "y");
  EXPECT_EQ(at(value_of(root, "c").content), "5:1");
}

TEST(TomlTree, refuses_what_is_not_TOML_with_its_place) {
  try {
    static_cast<void>(parse_toml("a = 1\nb = \n", "dir/f.toml"));
    FAIL() << "accepted";
  } catch (const DefinitionError& error) {
    ASSERT_EQ(error.mistakes().size(), 1U);
    EXPECT_EQ(error.mistakes()[0].file, "dir/f.toml");
    EXPECT_EQ(error.mistakes()[0].line, 2);
    EXPECT_EQ(error.mistakes()[0].column, 5);
    EXPECT_THAT(error.mistakes()[0].message, testing::StartsWith("not TOML: "));
  }
}

TEST(TomlTree, refuses_a_key_that_is_there_twice) {
  EXPECT_THROW(static_cast<void>(parse_toml("a = 1\na = 2\n", "f.toml")), DefinitionError);
}

TEST(CanonicalText, is_that_of_the_values_and_not_of_their_spelling) {
  const Node spelt = parse_toml("b = 16   # a comment\n\na = [ 'x',\n 'y' ]\n[t]\nr = 0.50\n", "f.toml");
  const Node other = parse_toml("t = { r = 5e-1 }\na = [\"x\", \"y\"]\nb = 0x10\n", "f.toml");
  EXPECT_EQ(canonical_text(spelt), canonical_text(other));
}

TEST(CanonicalText, tells_values_types_and_structures_apart) {
  const auto canonical = [](const char* text) { return canonical_text(parse_toml(text, "f.toml")); };
  EXPECT_NE(canonical("a = 1"), canonical("a = 2"));
  EXPECT_NE(canonical("a = 1"), canonical("a = 1.0"));
  EXPECT_NE(canonical("a = 1"), canonical("a = '1'"));
  EXPECT_NE(canonical("a = ['x', 'y']"), canonical("a = ['y', 'x']"));
  EXPECT_NE(canonical("a = ['x,y']"), canonical("a = ['x', 'y']"));
  EXPECT_NE(canonical("a = []"), canonical(""));
}

TEST(CanonicalText, keeps_the_order_of_a_space_alone) {
  const auto canonical = [](const char* text) { return canonical_text(parse_toml(text, "f.toml")); };
  EXPECT_NE(canonical("space = { a = [1], b = [1] }"), canonical("space = { b = [1], a = [1] }"));
  EXPECT_EQ(canonical("align = { a = 1, b = 1 }"), canonical("align = { b = 1, a = 1 }"));
}

/// The error of reading `text`; empty if it is read.
std::string refusal(const std::string& text) {
  try {
    (void)parse_toml(text, "f.toml");
  } catch (const DefinitionError& error) {
    return error.what();
  }
  return "";
}

TEST(TomlTree, refuses_keys_and_lists_that_would_overflow_the_stack) {
  std::string dots = "a";
  for (int i = 0; i < 200'000; ++i) dots += ".a";
  EXPECT_THAT(refusal("x = 1\n" + dots + " = 1\n"), testing::StartsWith("f.toml:2:32: a key of more than 16 names"));
  EXPECT_THAT(refusal("[" + dots + "]\n"), testing::HasSubstr("a key of more than 16 names"));
  EXPECT_THAT(refusal("x = {" + dots + " = 1}\n"), testing::HasSubstr("a key of more than 16 names"));
  EXPECT_THAT(refusal("x = " + std::string(200'000, '[')), testing::HasSubstr("not TOML"));
  EXPECT_EQ(refusal("x = '" + dots + "' # " + dots + "\ny = \"\\\"" + dots + "\"\nz = [0.5, 1.5]\n"), "");
}

TEST(TomlTree, reads_as_many_texts_as_a_file_holds_in_the_time_of_their_bytes) {
  std::string text = "x = [";
  for (int i = 0; i < 160'000; ++i) text += "'aaaaaaaa', ";
  const auto began = std::chrono::steady_clock::now();
  const Node root = parse_toml(text + "'''\nb''']\n", "f.toml");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10))
      << "minutes, if each looked for its line";
  EXPECT_EQ(root.members.at(0).value.items.size(), 160'001U);
  EXPECT_EQ(at(root.members.at(0).value.items.back().content), "2:1");
}

TEST(TomlTree, refuses_what_the_parser_takes_for_granted_that_nobody_writes) {
  for (const char* text : {"[$]\n", "x = 1\n  [ *a]\n", "x = [}\n", "x = [1, }\n"}) {
    EXPECT_THAT(refusal(text), testing::HasSubstr("f.toml")) << text;
    EXPECT_THAT(refusal(text), testing::HasSubstr("not TOML")) << text;
  }
}

TEST(TomlTree, refuses_letters_beyond_ASCII_where_a_space_would_do) {
  for (const char* text : {"x = 1\u03da\n", "x = [1e-6, \u00e9-6]\n", "x = true\u0430\n", "\u0430\u0430 = 1\n"}) {
    EXPECT_THAT(refusal(text), testing::HasSubstr("not TOML")) << text;
  }
}

}  // namespace
}  // namespace tilewright::reading
