// SPDX-License-Identifier: Apache-2.0
#include "cache/model/key_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/base/error.hpp"
#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright::key_reader_test {
namespace {

using test::error_of;

/// The error of reading a word and a list in braces.
std::string complaint(std::string_view text) {
  return error_of<UsageError>([&] {
    KeyReader reader("key", text);
    (void)reader.word("a word");
    (void)reader.pairs('{', '}');
    reader.end();
  });
}

TEST(KeyReader, reads_words_and_pairs_with_or_without_spaces) {
  for (const std::string_view text : {"op{a=1,b=x-2}", "  op { a = 1 ,\tb=x-2 } "}) {
    KeyReader reader("key", text);
    EXPECT_EQ(reader.word("a word"), "op");
    const std::vector<KeyReader::Pair> pairs = reader.pairs('{', '}');
    ASSERT_EQ(pairs.size(), 2U);
    EXPECT_EQ(pairs[0].name, "a");
    EXPECT_EQ(pairs[0].value, "1");
    EXPECT_EQ(pairs[1].value, "x-2");
    EXPECT_EQ(text[pairs[1].name_at], 'b');
    EXPECT_EQ(text[pairs[1].value_at], 'x');
    EXPECT_NO_THROW(reader.end());
  }
}

TEST(KeyReader, a_list_may_be_empty_or_absent) {
  KeyReader reader("key", "op{}[");
  EXPECT_TRUE(reader.pairs('[', ']').empty());
  EXPECT_EQ(reader.word("a word"), "op");
  EXPECT_TRUE(reader.pairs('[', ']').empty());
  EXPECT_TRUE(reader.next_is('{'));
  EXPECT_TRUE(reader.pairs('{', '}').empty());
  EXPECT_TRUE(reader.next_is('['));
}

TEST(KeyReader, tells_the_column_of_each_mistake) {
  EXPECT_EQ(complaint("{a=1}"), "key '{a=1}', column 1: expected a word");
  EXPECT_EQ(complaint(""), "key '', column 1: expected a word");
  EXPECT_EQ(complaint("op{=1}"), "key 'op{=1}', column 4: expected a name");
  EXPECT_EQ(complaint("op{a}"), "key 'op{a}', column 5: expected '='; write a=VALUE");
  EXPECT_EQ(complaint("op{a=}"), "key 'op{a=}', column 6: 'a' has no value");
  EXPECT_EQ(complaint("op{a=,b=1}"), "key 'op{a=,b=1}', column 6: 'a' has no value");
  EXPECT_EQ(complaint("op{a=1,a=2}"), "key 'op{a=1,a=2}', column 8: 'a' is given twice");
  EXPECT_EQ(complaint("op{a=1,}"), "key 'op{a=1,}', column 8: expected a name");
  EXPECT_EQ(complaint("op{a=1 b=2}"),
            "key 'op{a=1 b=2}', column 8: expected ','; separate pairs with ',', and write '}' after the last one");
  EXPECT_EQ(complaint("op{a=1"),
            "key 'op{a=1', column 7: expected ','; separate pairs with ',', and write '}' after the last one");
  EXPECT_EQ(complaint("op{"), "key 'op{', column 4: expected a name");
  EXPECT_EQ(complaint("op{a=1}x"), "key 'op{a=1}x', column 8: unexpected 'x'");
  EXPECT_EQ(complaint("op-2"), "key 'op-2', column 3: unexpected '-2'");
}

}  // namespace
}  // namespace tilewright::key_reader_test
