// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/target.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tilewright::service {
namespace {

int digit_of(char letter) noexcept {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

/// Decodes %-escapes. `plus_is_blank`: '+' is a blank, as in queries of forms.
std::optional<std::string> decode(std::string_view text, bool plus_is_blank) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_blank) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      if (i + 2 >= text.size() || digit_of(text[i + 1]) < 0 || digit_of(text[i + 2]) < 0) return std::nullopt;
      decoded += static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
      i += 2;
    }
  }
  if (!is_plain_utf8(decoded)) return std::nullopt;
  return decoded;
}

/// Length of the UTF-8 character with this first byte; 0: invalid.
std::size_t length_by(unsigned char first) noexcept {
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return 2;
  return first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
}

/// Whether the bytes are the shortest form of one character that is neither a control character nor a surrogate.
bool is_plain(std::string_view bytes) noexcept {
  const auto first = static_cast<unsigned char>(bytes[0]);
  std::uint32_t point = bytes.size() == 1 ? first : first & (0xFFU >> (bytes.size() + 1));
  for (const char byte : bytes.substr(1)) {
    const auto next = static_cast<unsigned char>(byte);
    if ((next & 0xC0) != 0x80) return false;
    point = point << 6 | (next & 0x3FU);
  }
  if ((bytes.size() == 3 && point < 0x800) || (bytes.size() == 4 && point < 0x10000) || point > 0x10FFFF) return false;
  return point >= 0x20 && (point < 0x7F || point >= 0xA0) && (point < 0xD800 || point >= 0xE000);
}

}  // namespace

bool is_plain_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = length_by(static_cast<unsigned char>(text[0]));
    if (length == 0 || length > text.size() || !is_plain(text.substr(0, length))) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::optional<Target> parse_target(std::string_view target) {
  if (target.empty() || target.front() != '/') return std::nullopt;
  const std::size_t mark = target.find('?');
  std::optional<std::string> path = decode(target.substr(0, mark), false);
  if (!path) return std::nullopt;
  Target parsed{std::move(*path), {}};
  if (mark == std::string_view::npos) return parsed;
  std::string_view left = target.substr(mark + 1);
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('&'), left.size());
    const std::string_view pair = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    if (pair.empty()) continue;
    const std::size_t sign = std::min(pair.find('='), pair.size());
    std::optional<std::string> name = decode(pair.substr(0, sign), true);
    std::optional<std::string> value = decode(pair.substr(std::min(sign + 1, pair.size())), true);
    if (!name || !value || parsed.query.size() == kMostNames) return std::nullopt;
    parsed.query.emplace_back(std::move(*name), std::move(*value));
  }
  return parsed;
}

}  // namespace tilewright::service
