// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/live_block.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tuner/report/units.hpp"

namespace tilewright::cli {
namespace {

// Begin and end of a synchronised update, and of the time for which the cursor is hidden.
constexpr const char* kFrameBegins = "\x1b[?2026h\x1b[?25l";
constexpr const char* kFrameEnds = "\x1b[?25h\x1b[?2026l";
constexpr const char* kEraseBelow = "\r\x1b[J";
constexpr const char* kEraseRest = "\x1b[K";

std::string up(std::size_t rows) { return rows == 0 ? "" : fmt::format("\x1b[{}A", rows); }

std::string frame(const std::string& body) { return body.empty() ? "" : kFrameBegins + body + kFrameEnds; }

/// Of the character that begins at `at`.
std::size_t length_of_character(const std::string& text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
  return end - at;
}

/// Terminals that tell no size are as most are.
TerminalSize known(TerminalSize size) { return size.columns == 0 || size.rows == 0 ? TerminalSize{80, 24} : size; }

bool is_control(char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F; }

}  // namespace

std::string cut_to_width(const std::string& text, std::size_t columns) {
  std::string shown;
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_of_character(text, at);
    const std::string character = is_control(text[at]) ? " " : text.substr(at, length);
    used += display_width(character);
    if (used > columns) break;
    shown += character;
    at += length;
  }
  return shown;
}

std::string LiveBlock::erase(TerminalSize size) const {
  std::size_t rows = 0;
  for (const std::string& line : shown_) {
    const std::size_t width = std::max<std::size_t>(display_width(line), 1);
    rows += (width + size.columns - 1) / size.columns;
  }
  return up(rows) + kEraseBelow;
}

std::string LiveBlock::all() const {
  std::string text;
  for (const std::string& line : shown_) text += line + "\n";
  return text;
}

std::string LiveBlock::draw(const std::vector<std::string>& lines, TerminalSize size) {
  size = known(size);
  std::vector<std::string> fitting;
  for (const std::string& line : lines) {
    if (fitting.size() + 1 >= size.rows) break;
    // The last column stays free: some terminals wrap as soon as it is written.
    fitting.push_back(cut_to_width(line, size.columns - 1));
  }
  const bool same_place = fitting.size() == shown_.size() && size.columns == size_.columns && size.rows == size_.rows;
  std::string body;
  if (same_place) {
    std::size_t row = fitting.size();
    for (std::size_t i = 0; i < fitting.size(); ++i) {
      if (fitting[i] == shown_[i]) continue;
      body += (row > i ? up(row - i) : std::string(i - row, '\n')) + "\r" + fitting[i] + kEraseRest;
      row = i;
    }
    if (!body.empty()) body += std::string(fitting.size() - row, '\n') + "\r";
    shown_ = std::move(fitting);
  } else {
    if (!shown_.empty()) body = erase(size);
    shown_ = std::move(fitting);
    body += all();
  }
  size_ = size;
  return frame(body);
}

std::string LiveBlock::write_above(const std::string& text, TerminalSize size) {
  if (shown_.empty()) return text;
  return frame(erase(known(size)) + text + all());
}

std::string LiveBlock::clear(TerminalSize size) {
  if (shown_.empty()) return "";
  std::string body = erase(known(size));
  shown_.clear();
  return frame(body);
}

}  // namespace tilewright::cli
