// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// Some lines at the bottom of a terminal, rewritten in place. This makes the text to write and writes nothing.
///
/// Each text is one frame. It begins and ends with the cursor visible in the terminal's last row, in the first column
/// below the block, and all settings as they were: a program that ends between two frames leaves a terminal that needs
/// no repair. The terminal remembers where the text above ends. Only lines that differ are written, as a synchronised
/// update where the terminal knows it.
///
/// A resized terminal breaks lines anew and moves rows above its top before it tells anyone. As the cursor was in the
/// last row, the place of the block is known: it is erased by rows, and rows out of sight when a larger window brings
/// them back.
namespace tilewright::cli {

struct TerminalSize {
  std::size_t columns = 0;
  std::size_t rows = 0;

  bool operator==(const TerminalSize&) const = default;
};

class LiveBlock {
 public:
  /// The block shows `lines`, each cut to the width, no more than there are rows for. Empty when nothing is to be
  /// written.
  [[nodiscard]] std::string draw(const std::vector<std::string>& lines, TerminalSize size);
  /// `text` (with its line ends) stands above the block for good.
  [[nodiscard]] std::string write_above(const std::string& text, TerminalSize size);
  /// The block goes.
  [[nodiscard]] std::string clear(TerminalSize size);
  /// Others have written to the terminal: what is shown stays, and the next frame is drawn below.
  void forget();

 private:
  /// From below the block to where the text above it ends, everything from there on erased.
  [[nodiscard]] std::string erase(TerminalSize size);
  /// The block at the bottom, from where the text above it ends.
  [[nodiscard]] std::string all(TerminalSize size);

  std::vector<std::string> shown_;
  /// Columns of each line of an earlier block, and of rows left free, that stand above this one and were out of sight.
  std::vector<std::size_t> remains_;
  TerminalSize size_;
};

/// The longest start of `text` that takes no more than `columns`, with blanks for whatever is no character to be seen.
[[nodiscard]] std::string cut_to_width(const std::string& text, std::size_t columns);

}  // namespace tilewright::cli
