// SPDX-License-Identifier: Apache-2.0
#include "cache/base/visible.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace tilewright {
namespace {

constexpr unsigned kDelete = 0x7F;
/// The first of the two bytes of U+0080 to U+00BF in UTF-8.
constexpr unsigned kLead = 0xC2;
constexpr unsigned kLastControl = 0x9F;

template <class Stays>
std::string spelled(std::string_view text, Stays stays) {
  std::string shown;
  shown.reserve(text.size());
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((at(i) < ' ' && !stays(i)) || at(i) == kDelete) {
      shown += fmt::format("\\u{:04x}", at(i));
    } else if (at(i) == kLead && at(i + 1) >= 0x80 && at(i + 1) <= kLastControl) {
      shown += fmt::format("\\u{:04x}", at(++i));
    } else {
      shown += text[i];
    }
  }
  return shown;
}

}  // namespace

std::string visible(std::string_view text) {
  return spelled(text,
                 [&](std::size_t i) { return text[i] == '\n' || text[i] == '\t' || text.substr(i, 2) == "\r\n"; });
}

std::string visible_line(std::string_view text) {
  return spelled(text, [](std::size_t) { return false; });
}

}  // namespace tilewright
