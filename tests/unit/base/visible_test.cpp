// SPDX-License-Identifier: Apache-2.0
#include "cache/base/visible.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tilewright::visible_test {
namespace {

TEST(Visible, spells_what_a_terminal_would_obey) {
  EXPECT_EQ(visible("a\x1b[2Jb\rc\a\x7f"), "a\\u001b[2Jb\\u000dc\\u0007\\u007f");
  EXPECT_EQ(visible(std::string_view("a\0b", 3)), "a\\u0000b");
  EXPECT_EQ(visible("\xc2\x80\xc2\x9b"
                    "31m"),
            "\\u0080\\u009b31m");
}

TEST(Visible, leaves_the_rest_as_it_is) {
  EXPECT_EQ(visible("µ é 漢 \xc2\xa0\n\tb\r\n"), "µ é 漢 \xc2\xa0\n\tb\r\n");
  EXPECT_EQ(visible("\xc2"), "\xc2");
  EXPECT_EQ(visible(""), "");
}

TEST(Visible, keeps_a_line_on_its_line) { EXPECT_EQ(visible_line("a\n\tb\r\n"), "a\\u000a\\u0009b\\u000d\\u000a"); }

TEST(Visible, changes_no_meaning_of_JSON) {
  const nlohmann::json text = "a\x1b\x7f\xc2\x9b\n";
  EXPECT_EQ(nlohmann::json::parse(visible(text.dump())), text);
}

}  // namespace
}  // namespace tilewright::visible_test
