// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <utility>

namespace tilewright {
namespace {

// The largest step that `value` reaches, by what four digits will print: 999.96 is already 1.000 of the next unit.
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
  // Rounded first, since 9.9996 has one more digit before the point once it is 10.00.
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
  static constexpr std::array<std::pair<double, const char*>, 5> kSteps{
      {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}}};
  if (count < 999.5 && count == std::floor(count)) return fmt::format("{:.0f}", count);
  return scaled(count, kSteps, 4);
}

std::string show_share(double fraction) { return significant(fraction * 100, 3) + " %"; }

std::string show_ratio(double ratio) { return significant(ratio, 3) + "x"; }

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
  gmtime_r(&moment, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min);
}

std::size_t display_width(std::string_view text) noexcept {
  const auto starts_character = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

}  // namespace tilewright
