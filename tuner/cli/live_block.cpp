// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/live_block.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/units.hpp"

namespace tilewright::cli {
namespace {

// Begin and end of a synchronised update, with the cursor hidden.
constexpr const char* kFrameBegins = "\x1b[?2026h\x1b[?25l";
constexpr const char* kFrameEnds = "\x1b[?25h\x1b[?2026l";
// In two parts: some terminals keep rows that are erased from the first on among the lines scrolled away.
constexpr const char* kEraseBelow = "\x1b[K\x1b[B\x1b[J\x1b[A";
constexpr const char* kEraseRest = "\x1b[K";
// Saves and restores the cursor: escape and a digit, in octal so that the digit does not belong to the escape.
constexpr const char* kRemember = "\0337";
constexpr const char* kReturn = "\0338";

std::string up(std::size_t rows) { return rows == 0 ? "" : fmt::format("\x1b[{}A", rows); }

std::string frame(const std::string& body) { return body.empty() ? "" : kFrameBegins + body + kFrameEnds; }

/// A terminal without a known size is taken to have 80 columns and 24 rows.
TerminalSize known(TerminalSize size) { return size.columns == 0 || size.rows == 0 ? TerminalSize{80, 24} : size; }

/// The rows of a line that the terminal has wrapped; an empty line is one row.
std::size_t rows_of(std::size_t width, std::size_t columns) {
  return std::max<std::size_t>((width + columns - 1) / columns, 1);
}

bool is_control(char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F; }

}  // namespace

std::string cut_to_width(const std::string& text, std::size_t columns) {
  std::string shown;
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t first = at;
    static_cast<void>(next_character(text, at));
    const std::string character = is_control(text[first]) ? " " : text.substr(first, at - first);
    used += display_width(character);
    if (used > columns) break;
    shown += character;
  }
  return shown;
}

namespace {

/// As many lines as fit above the cursor's row.
std::vector<std::string> fitted(const std::vector<std::string>& lines, TerminalSize size) {
  std::vector<std::string> fitting;
  for (const std::string& line : lines) {
    if (fitting.size() + 1 >= size.rows) break;
    // The last column stays free: some terminals wrap as soon as it is written.
    fitting.push_back(cut_to_width(line, size.columns - 1));
  }
  return fitting;
}

}  // namespace

std::string LiveBlock::erase(TerminalSize size) {
  if (size == size_) return std::string(kReturn) + kEraseBelow;
  std::vector<std::size_t> ours = std::move(remains_);
  remains_.clear();
  for (const std::string& line : shown_) ours.push_back(display_width(line));
  std::size_t rows = 0;
  for (const std::size_t width : ours) rows += rows_of(width, size.columns);
  std::string erased = "\r" + up(rows) + kEraseBelow;
  if (rows < size.rows) return erased;
  // The first of these rows are above the top, where nothing can be erased.
  std::size_t hidden = rows + 1 - size.rows;
  for (const std::size_t width : ours) {
    if (hidden == 0) break;
    const std::size_t taken = std::min(hidden, rows_of(width, size.columns));
    remains_.push_back(std::min(width, taken * size.columns));
    hidden -= taken;
  }
  // A free row keeps the terminal from joining a line broken there with what comes next.
  remains_.push_back(0);
  return erased + "\n";
}

std::string LiveBlock::all(TerminalSize size) {
  if (!remains_.empty() && size != size_) {
    // One row is taken at the top, and the cursor's at the bottom: rows between the first and the block are ours, too.
    for (std::size_t row = shown_.size() + 2; row < size.rows; ++row) remains_.push_back(0);
  }
  size_ = size;
  std::string text = std::string(shown_.size(), '\n') + up(shown_.size()) + kRemember;
  text += fmt::format("\x1b[{}B", size.rows) + up(shown_.size());
  for (const std::string& line : shown_) text += line + "\n";
  return text;
}

void LiveBlock::forget() {
  shown_.clear();
  remains_.clear();
}

std::string LiveBlock::draw(const std::vector<std::string>& lines, TerminalSize size) {
  size = known(size);
  std::vector<std::string> fitting = fitted(lines, size);
  if (fitting.empty()) return clear(size);
  std::string body;
  if (fitting.size() == shown_.size() && size == size_) {
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
    body += all(size);
  }
  return frame(body);
}

std::string LiveBlock::write_above(const std::string& text, TerminalSize size) {
  if (shown_.empty()) return text;
  size = known(size);
  const std::string erased = erase(size);
  shown_ = fitted(shown_, size);
  // Rows out of sight no longer adjoin the block.
  remains_.clear();
  return frame(erased + text + all(size));
}

std::string LiveBlock::clear(TerminalSize size) {
  if (shown_.empty()) return "";
  std::string body = erase(known(size));
  forget();
  return frame(body);
}

}  // namespace tilewright::cli
