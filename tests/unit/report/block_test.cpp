// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/block.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/report/opened_block.hpp"

namespace tilewright {
namespace {

using report_tests::OpenedBlock;
using Counts = std::vector<std::uint32_t>;
using Numbers = std::vector<double>;

TEST(Block, columns_come_back_as_they_were_put_in) {
  Block block;
  const PageJson json{{"bytes", block.put(Counts{0, 255})},
                      {"words", block.put(Counts{256, 65535, 1})},
                      {"long", block.put(Counts{65536, 4'000'000'000})},
                      {"floats", block.put(std::vector<float>{1.5F, -2.25F, 1e30F})},
                      {"none", block.put(Counts{})}};
  const OpenedBlock opened(block.compressed(json));
  EXPECT_EQ(opened.json, json);
  EXPECT_EQ(opened.numbers(json["bytes"]), (Numbers{0, 255}));
  EXPECT_EQ(opened.numbers(json["words"]), (Numbers{256, 65535, 1}));
  EXPECT_EQ(opened.numbers(json["long"]), (Numbers{65536, 4'000'000'000}));
  EXPECT_EQ(opened.numbers(json["floats"]), (Numbers{1.5, -2.25, 1e30F}));
  EXPECT_TRUE(opened.numbers(json["none"]).empty());
}

TEST(Block, numbers_take_the_narrowest_type_and_stand_once_where_they_are_equal) {
  Block block;
  EXPECT_EQ(block.put(Counts{0, 255}).dump(), R"({"type":"u8","at":0,"count":2})");
  EXPECT_EQ(block.put(Counts{256, 65535}).dump(), R"({"type":"u16","at":2,"count":2})");
  EXPECT_EQ(block.put(Counts{65536, 0}).dump(), R"({"type":"u32","at":6,"count":2})");
  EXPECT_EQ(block.put(Counts{7, 7, 7}).dump(), R"({"type":"u8","same":7,"count":3})");
}

TEST(Block, keeps_bytes_that_are_no_text_from_spoiling_it) {
  EXPECT_EQ(OpenedBlock(Block().compressed({{"text", "a\xff"}})).json["text"], "a\xEF\xBF\xBD");
}

/// The only column of a table with these cells, and its block.
struct TableColumn {
  explicit TableColumn(const std::vector<Cell>& cells) {
    Table table;
    table.columns = {{"time_ns", "time", Unit::nanoseconds}};
    for (const Cell& cell : cells) table.rows.push_back({cell});
    json = block.put(table)[0];
  }
  [[nodiscard]] Numbers numbers(const char* member) const {
    return OpenedBlock(block.compressed({})).numbers(json[member]);
  }

  Block block;
  PageJson json;
};

TEST(Block, a_column_of_a_table_says_what_its_numbers_are) {
  const TableColumn column({1.5, 2.5, Cell()});
  EXPECT_EQ(column.json["name"], "time_ns");
  EXPECT_EQ(column.json["heading"], "time");
  EXPECT_EQ(column.json["unit"], "nanoseconds");
  const Numbers numbers = column.numbers("numbers");
  EXPECT_EQ((Numbers{numbers[0], numbers[1]}), (Numbers{1.5, 2.5}));
  EXPECT_TRUE(std::isnan(numbers[2])) << "what is not known";
}

TEST(Block, whole_numbers_of_a_table_are_exact) {
  const TableColumn column({std::int64_t{4'000'000'001}, std::int64_t{3}});
  EXPECT_EQ(column.numbers("numbers"), (Numbers{4'000'000'001, 3}));
}

TEST(Block, texts_of_a_table_stand_once_and_what_is_not_known_is_null) {
  const TableColumn column({"b", "a", Cell(), "b"});
  EXPECT_EQ(column.json["texts"].dump(), R"(["b","a",null])");
  EXPECT_EQ(column.numbers("index"), (Numbers{0, 1, 2, 0}));
}

TEST(Block, cells_that_are_all_equal_stand_once) {
  EXPECT_EQ(TableColumn({"cold", "cold"}).json["same"], "cold");
  EXPECT_EQ(TableColumn({Cell(), Cell()}).json["same"], nullptr);
  EXPECT_EQ(TableColumn({}).json["same"], nullptr);
  EXPECT_FALSE(TableColumn({std::int64_t{1}, Cell()}).json.contains("same"));
}

}  // namespace
}  // namespace tilewright
