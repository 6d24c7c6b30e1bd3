// SPDX-License-Identifier: Apache-2.0
#include "cache/base/units.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tilewright {
namespace {

TEST(Significant, keeps_as_many_digits_as_matter_and_no_exponent) {
  EXPECT_EQ(significant(4312.4, 4), "4312");
  EXPECT_EQ(significant(43.124, 4), "43.12");
  EXPECT_EQ(significant(0.0123456, 4), "0.01235");
  EXPECT_EQ(significant(123456.0, 4), "123500");
  EXPECT_EQ(significant(-2.5, 3), "-2.50");
  EXPECT_EQ(significant(0.0, 4), "0");
}

TEST(ShowCount, has_steps_of_a_thousand_and_leaves_small_numbers_whole) {
  EXPECT_EQ(show_count(0), "0");
  EXPECT_EQ(show_count(512), "512");
  EXPECT_EQ(show_count(20'971'520), "20.97 M");
  EXPECT_EQ(show_count(1.1e9), "1.100 G");
}

TEST(Significant, rounds_up_over_a_power_of_ten_without_an_extra_digit) {
  EXPECT_EQ(significant(9.9996, 4), "10.00");
  EXPECT_EQ(significant(0.99999, 3), "1.00");
}

TEST(Significant, prints_what_is_no_number_as_such) {
  EXPECT_EQ(significant(std::numeric_limits<double>::infinity(), 3), "inf");
  EXPECT_EQ(significant(std::numeric_limits<double>::quiet_NaN(), 3), "nan");
}

TEST(ShowTime, takes_the_unit_that_fits) {
  EXPECT_EQ(show_time(812), "812.0 ns");
  EXPECT_EQ(show_time(3912.3), "3.912 µs");
  EXPECT_EQ(show_time(10'440'000), "10.44 ms");
  EXPECT_EQ(show_time(1.2e9), "1.200 s");
  EXPECT_EQ(show_time(4.5e11), "450.0 s");
}

TEST(ShowTime, never_prints_a_thousand_of_a_unit) {
  EXPECT_EQ(show_time(999.4), "999.4 ns");
  EXPECT_EQ(show_time(999.97), "1.000 µs");
}

TEST(ShowBytes, prints_whole_amounts_whole) {
  EXPECT_EQ(show_bytes(512), "512 B");
  EXPECT_EQ(show_bytes(64.0 * 1024 * 1024), "64 MiB");
  EXPECT_EQ(show_bytes(1.5 * 1024 * 1024 * 1024), "1.50 GiB");
}

TEST(ShowShare, is_in_percent) {
  EXPECT_EQ(show_share(0.924), "92.4 %");
  EXPECT_EQ(show_share(0.0031), "0.310 %");
}

TEST(ShowRatio, ends_with_x) {
  EXPECT_EQ(show_ratio(1.843), "1.84x");
  EXPECT_EQ(show_ratio(132.4), "132x");
  EXPECT_EQ(show_ratio(0.9837), "0.9837x") << "near 1 two digits would say nothing";
  EXPECT_EQ(show_ratio(1.0021), "1.002x");
  EXPECT_EQ(show_ratio(1.2), "1.20x");
}

TEST(ShowDuration, grows_coarser_with_length) {
  EXPECT_EQ(show_duration(0.44), "0.4 s");
  EXPECT_EQ(show_duration(-1), "0.0 s");
  EXPECT_EQ(show_duration(45.2), "45 s");
  EXPECT_EQ(show_duration(125), "2 min 05 s");
  EXPECT_EQ(show_duration(12'000), "3 h 20 min");
}

TEST(ShowMoment, is_in_utc_whatever_the_machine_has) { EXPECT_EQ(show_moment(1'772'374'500), "2026-03-01 14:15 UTC"); }

TEST(ShowMoment, is_a_dash_beyond_all_calendars) {
  EXPECT_EQ(show_moment(std::numeric_limits<long long>::max()), "-");
  // The last year that the calendar has: 1900 and all that 31 bits count.
  EXPECT_EQ(show_moment(67'768'036'191'676'799), "2147485547-12-31 23:59 UTC");
}

TEST(NextCharacter, reads_utf8_and_gets_over_any_bytes) {
  std::size_t at = 0;
  EXPECT_EQ(next_character("aµ", at), U'a');
  EXPECT_EQ(next_character("aµ", at), U'µ');
  EXPECT_EQ(at, 3U);
  at = 0;
  EXPECT_EQ(next_character("\U0001F680", at), U'\U0001F680');
  EXPECT_EQ(at, 4U);
  at = 0;
  static_cast<void>(next_character("\xF0", at));
  EXPECT_EQ(at, 1U) << "a character that is cut off";
}

TEST(IsoMoment, is_in_utc_with_seconds) {
  EXPECT_EQ(iso_moment(1'772'374'509), "2026-03-01T14:15:09Z");
  EXPECT_EQ(iso_moment(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(iso_moment(std::numeric_limits<long long>::max()), "");
}

TEST(DisplayWidth, counts_characters_not_bytes) {
  EXPECT_EQ(display_width("µs"), 2U);
  EXPECT_EQ(display_width("± 0.4 %"), 7U);
  EXPECT_EQ(display_width("核.toml"), 7U);
  EXPECT_EQ(display_width("e\u0301"), 1U);
  EXPECT_EQ(display_width("\U0001F680"), 2U);
  EXPECT_EQ(display_width(""), 0U);
}

TEST(Counted, takes_an_s_where_there_is_not_one) {
  EXPECT_EQ(counted(0, "step"), "0 steps");
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(5, "problem"), "5 problems");
}

}  // namespace
}  // namespace tilewright
