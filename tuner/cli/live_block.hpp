// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// Some lines at the end of what a terminal shows, rewritten in place. This makes the text to write and writes nothing.
///
/// Each text is one frame: it begins and ends with the cursor in the first column below the block, visible, and all
/// settings as they were, so whatever ends the program between two frames leaves a terminal that needs no repair. Terminals
/// that know synchronised updates show a frame at once; only lines that differ are written, so others hardly flicker either.
namespace tilewright::cli {

struct TerminalSize {
  std::size_t columns = 0;
  std::size_t rows = 0;
};

class LiveBlock {
 public:
  /// The block shows `lines`, each cut to the width, no more than there are rows for. Empty when nothing is to be written.
  [[nodiscard]] std::string draw(const std::vector<std::string>& lines, TerminalSize size);
  /// `text` (with its line ends) stands above the block for good.
  [[nodiscard]] std::string write_above(const std::string& text, TerminalSize size);
  /// The block goes.
  [[nodiscard]] std::string clear(TerminalSize size);
  /// Others have written to the terminal: what is shown stays, and the next frame is drawn below.
  void forget() { shown_.clear(); }

 private:
  /// Up to the block's first line, everything from there on erased. What a narrower terminal has broken into several rows counts
  /// as such.
  [[nodiscard]] std::string erase(TerminalSize size) const;
  [[nodiscard]] std::string all() const;

  std::vector<std::string> shown_;
  TerminalSize size_;
};

/// The longest start of `text` that takes no more than `columns`, with blanks for whatever is no character to be seen.
[[nodiscard]] std::string cut_to_width(const std::string& text, std::size_t columns);

}  // namespace tilewright::cli
