// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>

#include "cache/base/units.hpp"
#include "tuner/report/render.hpp"

namespace tilewright {
namespace {

Table wide_table() {
  Table table;
  table.title = "softmax";
  table.columns = {{"rows", "rows"},
                   {"winner", "winner", Unit::none, Shown::everywhere, false, true},
                   {"time_ns", "time", Unit::nanoseconds},
                   {"device", "device", Unit::none, Shown::everywhere, true}};
  const std::string device = "NVIDIA H200 (sm_90, 132 SMs, 140 GiB, 6144-bit)";
  for (const std::int64_t rows : {256, 32768}) {
    table.rows.push_back({Cell(rows), Cell(std::string("onchip{num_warps=4,rows_per_block=1,vec=8,static_dims=1}")),
                          Cell(3912.0), Cell(device)});
  }
  return table;
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return widest;
}

TEST(RenderText, aligns_numbers_right_and_words_left) {
  const Table table{
      "",
      {{"name", "name"}, {"count", "count"}},
      {{Cell(std::string("a")), Cell(std::int64_t{5})}, {Cell(std::string("bcdef")), Cell(std::int64_t{12345})}},
      {}};
  EXPECT_EQ(render_text(table, 0),
            "name   count\n"
            "-----  -----\n"
            "a          5\n"
            "bcdef  12345\n");
}

TEST(RenderText, prints_all_columns_where_they_fit) {
  const std::string text = render_text(wide_table(), 200);
  EXPECT_NE(text.find("device\n"), std::string::npos);
  EXPECT_EQ(text.find("device: "), std::string::npos);
  EXPECT_LE(widest_line(text), 200U);
}

TEST(RenderText, tells_what_all_rows_share_once_when_it_is_narrower) {
  const std::string text = render_text(wide_table(), 100);
  EXPECT_NE(text.find("device: NVIDIA H200 (sm_90, 132 SMs, 140 GiB, 6144-bit)\n"), std::string::npos);
  EXPECT_NE(text.find("onchip{num_warps=4,rows_per_block=1,vec=8,static_dims=1}"), std::string::npos);
  EXPECT_LE(widest_line(text), 100U);
}

TEST(RenderText, breaks_long_cells_over_lines_when_that_is_not_enough) {
  const std::string text = render_text(wide_table(), 60);
  EXPECT_LE(widest_line(text), 60U);
  EXPECT_NE(text.find("onchip{num_warps=4,"), std::string::npos);
  EXPECT_NE(text.find("static_dims=1}"), std::string::npos);
}

TEST(RenderText, breaks_a_path_that_is_too_wide_after_its_slashes) {
  const std::string path = "/opt/nvidia/cuda-13.0/targets/x86_64-linux/lib/libnvrtc.so.13";
  Table table{"", {{"part", "part"}, {"where", "where"}}, {{Cell(std::string("NVRTC")), Cell(path)}}, {}};
  table.columns[1].breakable = true;
  EXPECT_EQ(render_text(table, 40),
            "part   where\n"
            "-----  ---------------------------------\n"
            "NVRTC  /opt/nvidia/cuda-13.0/targets/\n"
            "       x86_64-linux/lib/libnvrtc.so.13\n");
  EXPECT_NE(render_text(table, 80).find(path), std::string::npos) << "where there is room it stays whole";
  table.notes = {"It was looked for in " + path + " and nowhere else."};
  EXPECT_LE(widest_line(render_text(table, 40)), 40U) << render_text(table, 40);
}

TEST(RenderText, keeps_a_common_column_whose_rows_differ) {
  Table table = wide_table();
  table.rows[1][3] = Cell(std::string("cpu"));
  const std::string text = render_text(table, 80);
  EXPECT_EQ(text.find("device: "), std::string::npos);
  EXPECT_NE(text.find("cpu"), std::string::npos);
}

TEST(RenderText, never_cuts_what_cannot_be_made_to_fit) {
  const Table table{"", {{"hash", "hash"}}, {{Cell(std::string(50, 'x'))}}, {}};
  EXPECT_NE(render_text(table, 20).find(std::string(50, 'x')), std::string::npos);
}

TEST(RenderText, leaves_columns_for_programs_out) {
  const Table table{"", {{"a", "a"}, {"low_ns", "", Unit::none, Shown::programs}}, {{Cell(true), Cell(1.0)}}, {}};
  EXPECT_EQ(render_text(table, 0), "a\n---\nyes\n");
}

TEST(RenderText, puts_notes_below_and_breaks_them_at_blanks) {
  Table table = wide_table();
  table.notes = {"one sentence that is a good deal longer than forty columns are wide"};
  const std::string text = render_text(table, 80);
  EXPECT_LE(widest_line(text), 80U);
  EXPECT_NE(text.find("\n\none sentence that"), std::string::npos);
}

TEST(RenderText, prints_records_as_blocks_without_what_is_not_known) {
  Table table{"",
              {{"winner", "winner"}, {"time_ns", "time", Unit::nanoseconds}, {"id", "", Unit::none, Shown::programs}},
              {{Cell(std::string("a")), Cell(2000.0), Cell(std::int64_t{7})}, {Cell(std::string("b")), Cell(), Cell()}},
              {}};
  table.as_records = true;
  EXPECT_EQ(render_text(table, 80),
            "winner  a\n"
            "time    2.000 µs\n"
            "\n"
            "winner  b\n");
}

TEST(RenderText, of_no_rows_is_title_and_notes) {
  const Table table{"softmax: nothing yet", {{"a", "a"}}, {}, {"type this next"}};
  EXPECT_EQ(render_text(table, 80), "softmax: nothing yet\n\ntype this next\n");
}

TEST(RenderMarkdown, escapes_what_would_end_a_cell) {
  const Table table{"", {{"formula", "formula"}}, {{Cell(std::string("a|b\nc"))}}, {"note"}};
  EXPECT_EQ(render_markdown(table), "| formula |\n| --- |\n| a\\|b c |\n\nnote\n");
}

TEST(RenderText, never_breaks_a_command) {
  Table table{"", {{"name", "name"}}, {{Cell(std::string("a"))}}, {}};
  const std::string command = "tilewright sweep \"softmax[dtype=bf16,pitch=dense]{rows=32768,cols=513}\" --cache c.db";
  table.notes = {"A note."};
  table.advice = {{"One sentence that is long enough to be broken over lines, and what to type:", {command, "second"}}};
  const std::string text = render_text(table, 40);
  EXPECT_NE(text.find("\nA note.\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  " + command + "\n  second\n"), std::string::npos) << text;
  EXPECT_EQ(text.find(table.advice[0].says), std::string::npos) << "a sentence is";
  EXPECT_NE(render_markdown(table).find("  " + command + "\n"), std::string::npos);
  const std::string json = render_json(table);
  EXPECT_NE(json.find("\"advice\""), std::string::npos) << json;
  table.advice.clear();
  EXPECT_EQ(render_json(table).find("\"advice\""), std::string::npos);
}

}  // namespace
}  // namespace tilewright
