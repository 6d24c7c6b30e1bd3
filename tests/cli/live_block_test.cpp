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

TEST(LiveBlock, counts_the_rows_that_a_narrower_terminal_has_made_of_its_lines) {
  LiveBlock block;
  (void)block.draw({std::string(60, 'x'), "short"}, kSize);
  // 60 columns are three rows of 25.
  EXPECT_TRUE(contains(block.draw({"new"}, {25, 24}), "\x1b[4A\r\x1b[J"));
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
