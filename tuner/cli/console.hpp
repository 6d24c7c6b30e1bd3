// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "tuner/report/table.hpp"

/// Where a verb prints: results on stdout, progress and everything else on stderr. One a process, used by one thread.
namespace tilewright::cli {

class Console {
 public:
  /// Results. Throws Error when stdout cannot be written (a full disk); a reader that went away (a closed pipe) ends
  /// the program quietly, as it does other programs.
  void print(const std::string& text);
  void print(const Table& table, Format format);
  /// A line for people, on stderr.
  void say(const std::string& line);

  /// One line that the next takes the place of, on a terminal; cut to its width.
  void show_live(const std::string& line);
  void clear_live();
  [[nodiscard]] bool live_possible() const noexcept;

  /// Columns of the terminal behind stdout, or COLUMNS, or 120 where there is none.
  [[nodiscard]] std::size_t width() const;
  /// Whether stdout is a terminal that shows colours, and NO_COLOR (https://no-color.org) does not forbid them.
  [[nodiscard]] bool colours() const noexcept;

 private:
  bool live_shown_ = false;
};

}  // namespace tilewright::cli
