// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// Some lines at the bottom of a terminal, rewritten in place. Makes the text to write, and writes nothing.
///
/// Each text is one frame. It begins and ends with the cursor visible in the terminal's last row, in the first column
/// below the block, and with all settings unchanged: a program that ends between two frames leaves a sound terminal.
/// The terminal's saved cursor marks where the text above ends. A frame rewrites only lines that differ, as a
/// synchronised update if the terminal knows it.
///
/// A resized terminal wraps lines anew and moves rows above its top before it tells anyone. Since the cursor was in the
/// last row, the place of the block is known: it is erased by rows; rows out of sight are erased when a larger window
/// brings them back.
namespace tilewright::cli {

struct TerminalSize {
  std::size_t columns = 0;
  std::size_t rows = 0;

  bool operator==(const TerminalSize&) const = default;
};

class LiveBlock {
 public:
  /// Shows `lines`, each cut to the width, as many as there are rows for. Empty if nothing needs to be written.
  [[nodiscard]] std::string draw(const std::vector<std::string>& lines, TerminalSize size);
  /// Writes `text`, with its line ends, above the block.
  [[nodiscard]] std::string write_above(const std::string& text, TerminalSize size);
  /// Removes the block.
  [[nodiscard]] std::string clear(TerminalSize size);
  /// For when others have written to the terminal: the shown lines stay, and the next frame is drawn below.
  void forget();

 private:
  /// Goes from below the block to the end of the text above it, and erases all after that.
  [[nodiscard]] std::string erase(TerminalSize size);
  /// Draws the whole block, from the end of the text above it.
  [[nodiscard]] std::string all(TerminalSize size);

  std::vector<std::string> shown_;
  /// Columns of an earlier block's lines and of free rows that stand above this block and were out of sight.
  std::vector<std::size_t> remains_;
  TerminalSize size_;
};

/// The longest start of `text` that fits `columns`; control characters become blanks.
[[nodiscard]] std::string cut_to_width(const std::string& text, std::size_t columns);

}  // namespace tilewright::cli
