// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tuner/cli/live_block.hpp"
#include "tuner/report/table.hpp"

/// The output of a verb: results on stdout, all else on stderr, as text for people or as one JSON object a line
/// (docs/progress.md). One for each process; thread-safe.
namespace tilewright::cli {

class Console {
 public:
  /// Prints a result. Throws Error if stdout cannot be written, such as on a full disk; a closed pipe ends the program
  /// quietly, as it does other programs. Control characters are spelled out, here and in say(): files of others may
  /// have them (cache/base/visible.hpp).
  void print(const std::string& text);
  void print(const Table& table, Format format);
  void print(const std::vector<Table>& tables, Format format);
  /// Writes a line for people to stderr; in a JSON log it is an event "message".
  void say(const std::string& line);
  /// Writes the error that ends the program; in a JSON log it is an event "error".
  void say_error(const std::string& text);

  /// From now on stderr gets events alone.
  void log_as_json() noexcept { json_ = true; }
  [[nodiscard]] bool logs_json() const noexcept { return json_; }
  /// Adds an object, whose "event" names its kind, to a JSON log, with the time.
  void log(const nlohmann::ordered_json& event);

  /// Shows lines at the bottom of a terminal, in place of the last ones; lines that are said stand above them. Draws
  /// nothing while the program is in the background.
  void show_live(const std::vector<std::string>& lines);
  void clear_live();
  [[nodiscard]] bool live_possible() const noexcept;

  /// Columns of the terminal behind stdout, else COLUMNS, else 120.
  [[nodiscard]] std::size_t width() const;
  /// Whether stdout is a terminal that shows colours, and NO_COLOR (https://no-color.org) allows them.
  [[nodiscard]] bool colours() const noexcept;
  /// Columns of the terminal behind stderr that a live line may fill.
  [[nodiscard]] std::size_t live_width() const;

 private:
  void write(const std::string& text);
  /// Forgets the block if a shell has written to the terminal, or may at any moment.
  void forget_if_disturbed();

  std::mutex mutex_;
  LiveBlock block_;
  bool json_ = false;
};

}  // namespace tilewright::cli
