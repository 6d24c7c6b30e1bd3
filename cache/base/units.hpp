// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Numbers and moments as text: for people few digits, and the unit that fits. Pure functions.
namespace tilewright {

/// `value` with `digits` significant digits and no exponent: 4312, 39.12, 0.01234.
[[nodiscard]] std::string significant(double value, int digits);
/// "812.0 ns", "3.912 µs", "10.44 ms", "1.200 s".
[[nodiscard]] std::string show_time(double nanoseconds);
/// "512 B", "64 MiB", "1.5 GiB".
[[nodiscard]] std::string show_bytes(double bytes);
/// "512", "20.97 M", "1.100 G": steps of 1000.
[[nodiscard]] std::string show_count(double count);
/// "92.4 %", "0.31 %".
[[nodiscard]] std::string show_share(double fraction);
/// "1.84x", "132x"; one digit more near 1: "0.9974x", "1.002x".
[[nodiscard]] std::string show_ratio(double ratio);
/// "45 s", "2 min 05 s", "3 h 20 min".
[[nodiscard]] std::string show_duration(double seconds);
inline constexpr std::int64_t kSecondsOfADay = 86'400;
/// "2026-03-01 14:05 UTC", from seconds since 1970; "-" if no calendar has the moment.
[[nodiscard]] std::string show_moment(long long seconds);
/// "2026-03-01T14:05:09Z", for programs; empty if no calendar has the moment.
[[nodiscard]] std::string iso_moment(long long seconds);

/// "1 step", "5 steps", "2 binaries".
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun);
template <std::signed_integral Count>
[[nodiscard]] std::string counted(Count count, std::string_view noun) {
  return counted(static_cast<std::size_t>(count), noun);
}

/// Reads the character of UTF-8 text that begins at `at`, and moves `at` behind it. Any bytes give some characters.
[[nodiscard]] char32_t next_character(std::string_view text, std::size_t& at) noexcept;
/// Terminal columns of UTF-8 text: two for an East Asian wide character or a pictograph, none for a combining mark.
[[nodiscard]] std::size_t display_width(std::string_view text) noexcept;

}  // namespace tilewright
