// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/live_block.hpp"

#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

using cli::cut_to_width;
using cli::LiveBlock;
using cli::TerminalSize;

constexpr TerminalSize kSize{80, 24};

TEST(LiveBlock, writes_nothing_where_nothing_changed) {
  LiveBlock block;
  EXPECT_EQ(block.clear(kSize), "");
  EXPECT_EQ(block.draw({}, kSize), "");
  EXPECT_NE(block.draw({"one", "two"}, kSize), "");
  EXPECT_EQ(block.draw({"one", "two"}, kSize), "");
}

TEST(LiveBlock, writes_the_changed_line_alone) {
  LiveBlock block;
  (void)block.draw({"one", "two", "three"}, kSize);
  const std::string frame = block.draw({"one", "TWO", "three"}, kSize);
  EXPECT_TRUE(contains(frame, "\x1b[2A\rTWO\x1b[K\n\n\r")) << frame;
  EXPECT_FALSE(contains(frame, "one"));
  EXPECT_FALSE(contains(frame, "three"));
}

TEST(LiveBlock, leaves_nothing_to_restore_after_any_frame) {
  LiveBlock block;
  const std::string frames[] = {block.draw({"one"}, kSize), block.draw({"two"}, kSize),
                                block.write_above("said\n", kSize), block.draw({"two", "three"}, {40, 10}),
                                block.clear(kSize)};
  for (const std::string& frame : frames) {
    EXPECT_EQ(frame.rfind("\x1b[?2026h\x1b[?25l", 0), 0U) << frame;
    const std::string end = "\x1b[?25h\x1b[?2026l";
    ASSERT_GT(frame.size(), end.size());
    EXPECT_EQ(frame.substr(frame.size() - end.size()), end) << frame;
  }
}

TEST(LiveBlock, puts_what_is_said_above_it_and_stays) {
  LiveBlock block;
  (void)block.draw({"state"}, kSize);
  const std::string frame = block.write_above("said\n", kSize);
  EXPECT_LT(frame.find("said\n"), frame.find("state\n"));
  EXPECT_EQ(LiveBlock().write_above("said\n", kSize), "said\n");
}

TEST(LiveBlock, stands_at_the_bottom_and_comes_back_to_where_the_text_ends) {
  LiveBlock block;
  // Makes room for two lines, saves the cursor at the text's end, and draws the block above the last row.
  EXPECT_TRUE(contains(block.draw({"one", "two"}, kSize), "\n\n\x1b[2A\0337\x1b[24B\x1b[2Aone\ntwo\n"));
  const std::string erased = "\0338\x1b[K\x1b[B\x1b[J\x1b[A";
  EXPECT_TRUE(contains(block.write_above("said\n", kSize), erased + "said\n\n\n\x1b[2A\0337"));
  EXPECT_TRUE(contains(block.clear(kSize), erased));
}

TEST(LiveBlock, counts_the_rows_that_a_narrower_terminal_has_made_of_its_lines) {
  LiveBlock block;
  (void)block.draw({std::string(60, 'x'), "short"}, kSize);
  // 60 columns are three rows of 25.
  const std::string frame = block.draw({"new"}, {25, 24});
  EXPECT_TRUE(contains(frame, "\r\x1b[4A\x1b[K\x1b[B\x1b[J\x1b[A")) << frame;
  EXPECT_FALSE(contains(frame, "\0338")) << "what was remembered is where it was in the other size\n" << frame;
}

TEST(LiveBlock, erases_what_was_out_of_sight_when_a_larger_terminal_brings_it_back) {
  LiveBlock block;
  (void)block.draw({std::string(60, 'x'), std::string(70, 'y'), "short"}, kSize);
  // In 20 columns the lines take 3 + 4 + 1 rows. A terminal of 5 rows hides 4: the first line and 20 columns of the
  // second.
  const std::string narrow = block.draw({"one", "two"}, {20, 5});
  EXPECT_TRUE(contains(narrow, "\r\x1b[8A\x1b[K\x1b[B\x1b[J\x1b[A\n")) << narrow;
  // These two lines, the row left free at the top, one more above the block, and the block.
  const std::string wide = block.draw({"one", "two"}, kSize);
  EXPECT_TRUE(contains(wide, "\r\x1b[6A\x1b[K")) << wide;
  EXPECT_TRUE(contains(block.draw({"one"}, {90, 30}), "\r\x1b[2A\x1b[K")) << "then nothing is left of it";
}

TEST(LiveBlock, leaves_alone_what_was_said_since_something_went_out_of_sight) {
  LiveBlock block;
  (void)block.draw({std::string(60, 'x'), std::string(70, 'y'), "short"}, kSize);
  (void)block.draw({"one", "two"}, {20, 5});
  (void)block.write_above("said\n", {20, 5});
  EXPECT_TRUE(contains(block.draw({"one", "two"}, kSize), "\r\x1b[2A\x1b[K"));
}

TEST(LiveBlock, fits_the_terminal_of_now_when_something_is_said_first) {
  LiveBlock block;
  (void)block.draw({std::string(60, 'x'), "two", "three"}, kSize);
  const std::string frame = block.write_above("said\n", {25, 3});
  EXPECT_TRUE(contains(frame, std::string(24, 'x') + "\ntwo\n")) << frame;
  EXPECT_FALSE(contains(frame, std::string(25, 'x')));
  EXPECT_FALSE(contains(frame, "three"));
}

TEST(LiveBlock, takes_no_more_room_than_there_is) {
  LiveBlock block;
  const std::string frame = block.draw({"0123456789", "second", "third"}, {6, 3});
  EXPECT_TRUE(contains(frame, "01234\nsecon\n")) << frame;
  EXPECT_FALSE(contains(frame, "third"));
}

TEST(LiveBlock, is_drawn_below_after_others_wrote) {
  LiveBlock block;
  (void)block.draw({"one"}, kSize);
  block.forget();
  EXPECT_FALSE(contains(block.draw({"one"}, kSize), "A\r"));
}

TEST(CutToWidth, counts_wide_characters_twice_and_never_breaks_one) {
  EXPECT_EQ(cut_to_width("abc", 2), "ab");
  EXPECT_EQ(cut_to_width("µs ±", 3), "µs ");
  EXPECT_EQ(cut_to_width("核心", 3), "核");
  EXPECT_EQ(cut_to_width("核心", 4), "核心");
  EXPECT_EQ(cut_to_width("", 3), "");
}

TEST(CutToWidth, lets_no_control_character_through) { EXPECT_EQ(cut_to_width("a\x1b[2J\tb\x7f", 80), "a [2J b "); }

}  // namespace
}  // namespace tilewright::testing
