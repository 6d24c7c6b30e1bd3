// SPDX-License-Identifier: Apache-2.0
#include "cache/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <utility>

namespace tilewright {
namespace {

// Picks the largest step that `value` reaches once it is rounded: 999.96 is already 1.000 of the next unit.
template <std::size_t Size>
std::string scaled(double value, const std::array<std::pair<double, const char*>, Size>& steps, int digits) {
  const double margin = 1 - 0.5 * std::pow(10.0, -digits);
  const auto* step = &steps.front();
  for (const auto& candidate : steps) {
    if (std::abs(value) >= candidate.first * margin) step = &candidate;
  }
  return fmt::format("{} {}", significant(value / step->first, digits), step->second);
}

}  // namespace

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (value == 0) return "0";
  // Rounded first: 9.9996 gains a digit before the point when it becomes 10.00.
  const double scale = std::pow(10.0, digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value)))));
  const double rounded = std::round(value * scale) / scale;
  const int whole = static_cast<int>(std::floor(std::log10(std::abs(rounded)))) + 1;
  return fmt::format("{:.{}f}", rounded, std::clamp(digits - whole, 0, 17));
}

std::string show_time(double nanoseconds) {
  static constexpr std::array<std::pair<double, const char*>, 4> kSteps{
      {{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}}};
  return scaled(nanoseconds, kSteps, 4);
}

std::string show_bytes(double bytes) {
  static constexpr std::array<std::pair<double, const char*>, 5> kSteps{
      {{1, "B"}, {1024.0, "KiB"}, {1048576.0, "MiB"}, {1073741824.0, "GiB"}, {1099511627776.0, "TiB"}}};
  const auto* step = &kSteps.front();
  for (const auto& candidate : kSteps) {
    if (std::abs(bytes) >= candidate.first) step = &candidate;
  }
  const double value = bytes / step->first;
  // Sizes are mostly round: 64 MiB, not 64.00 MiB.
  return fmt::format("{} {}", value == std::floor(value) ? fmt::format("{:.0f}", value) : significant(value, 3),
                     step->second);
}

std::string show_count(double count) {
  static constexpr std::array<std::pair<double, const char*>, 6> kSteps{
      {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}, {1e15, "P"}}};
  if (count < 999.5 && count == std::floor(count)) return fmt::format("{:.0f}", count);
  return scaled(count, kSteps, 4);
}

std::string show_share(double fraction) { return significant(fraction * 100, 3) + " %"; }

std::string show_ratio(double ratio) {
  // Near 1, the difference shows in the fourth digit.
  const bool near_one = ratio > 0.9 && ratio < 1.1;
  return significant(ratio, near_one ? 4 : 3) + "x";
}

std::string show_duration(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::max(seconds, 0.0)));
  if (seconds < 9.95) return fmt::format("{:.1f} s", std::max(seconds, 0.0));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string show_moment(long long seconds) {
  const auto moment = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (gmtime_r(&moment, &parts) == nullptr) return "-";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", parts.tm_year + 1900LL, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min);
}

std::string iso_moment(long long seconds) {
  const auto moment = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (gmtime_r(&moment, &parts) == nullptr) return {};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900LL, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Combining marks and joiners share the column of the character before them.
constexpr Range kNoWidth[] = {{0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
// East Asian wide characters and pictographs (Unicode's annex 11), by their blocks.
constexpr Range kTwoColumns[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xAC00, 0xD7A3},
                                 {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
                                 {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

template <std::size_t N>
bool is_in(char32_t character, const Range (&ranges)[N]) noexcept {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const Range& range) { return character >= range.first && character <= range.last; });
}

}  // namespace

std::string counted(std::size_t count, std::string_view noun) {
  if (count == 1) return fmt::format("1 {}", noun);
  const bool ends_in_y = noun.ends_with("ry");
  return fmt::format("{} {}{}", count, ends_in_y ? noun.substr(0, noun.size() - 1) : noun, ends_in_y ? "ies" : "s");
}

char32_t next_character(std::string_view text, std::size_t& at) noexcept {
  const auto lead = static_cast<unsigned char>(text[at++]);
  char32_t character = lead;
  if (lead >= 0xC0) character = lead & (lead >= 0xF0 ? 0x07U : lead >= 0xE0 ? 0x0FU : 0x1FU);
  for (; at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; ++at) {
    character = character << 6U | (static_cast<unsigned char>(text[at]) & 0x3FU);
  }
  return character;
}

std::size_t display_width(std::string_view text) noexcept {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t character = next_character(text, at);
    columns += is_in(character, kNoWidth) ? 0U : is_in(character, kTwoColumns) ? 2U : 1U;
  }
  return columns;
}

}  // namespace tilewright
