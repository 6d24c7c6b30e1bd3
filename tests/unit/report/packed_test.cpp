// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/packed.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace tilewright {
namespace {

std::string base64_of(std::string_view text) { return base64(std::as_bytes(std::span(text))); }

// The vectors of RFC 4648.
TEST(Packed, base64_is_that_of_the_standard) {
  EXPECT_EQ(base64_of(""), "");
  EXPECT_EQ(base64_of("f"), "Zg==");
  EXPECT_EQ(base64_of("fo"), "Zm8=");
  EXPECT_EQ(base64_of("foo"), "Zm9v");
  EXPECT_EQ(base64_of("foob"), "Zm9vYg==");
  EXPECT_EQ(base64_of("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64_of("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64_of("\xff\xfe\xfd"), "//79");
}

TEST(Packed, numbers_take_the_narrowest_type_that_holds_them) {
  EXPECT_EQ(packed(std::vector<std::uint32_t>{}).dump(), R"({"type":"u8","data":""})");
  EXPECT_EQ(packed(std::vector<std::uint32_t>{0, 255}).dump(), R"({"type":"u8","data":"AP8="})");
  EXPECT_EQ(packed(std::vector<std::uint32_t>{256, 65535}).dump(), R"({"type":"u16","data":"AAH//w=="})");
  EXPECT_EQ(packed(std::vector<std::uint32_t>{65536}).dump(), R"({"type":"u32","data":"AAABAA=="})");
  EXPECT_EQ(packed(std::vector<float>{1.0F}).dump(), R"({"type":"f32","data":"AACAPw=="})");
}

Table table_of(const std::vector<Cell>& cells) {
  Table table;
  table.columns = {{"time_ns", "time", Unit::nanoseconds}};
  for (const Cell& cell : cells) table.rows.push_back({cell});
  return table;
}

TEST(Packed, a_column_says_what_its_numbers_are) {
  const PageJson column = columns_of(table_of({1.5, 2.5}))[0];
  EXPECT_EQ(column["name"], "time_ns");
  EXPECT_EQ(column["heading"], "time");
  EXPECT_EQ(column["unit"], "nanoseconds");
  EXPECT_EQ(column["values"].dump(), "[1.5,2.5]");
}

TEST(Packed, texts_stand_once_and_what_is_not_known_is_null) {
  const PageJson column = columns_of(table_of({"b", "a", Cell(), "b"}))[0];
  EXPECT_EQ(column["texts"].dump(), R"(["b","a",null])");
  EXPECT_EQ(column["index"].dump(), "[0,1,2,0]");
}

TEST(Packed, cells_that_are_all_equal_stand_once) {
  EXPECT_EQ(columns_of(table_of({"cold", "cold"}))[0]["same"], "cold");
  EXPECT_EQ(columns_of(table_of({Cell(), Cell()}))[0]["same"], nullptr);
  EXPECT_EQ(columns_of(table_of({}))[0]["same"], nullptr);
  EXPECT_FALSE(columns_of(table_of({std::int64_t{1}, Cell()}))[0].contains("same"));
}

}  // namespace
}  // namespace tilewright
