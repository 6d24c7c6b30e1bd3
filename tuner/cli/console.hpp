// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tuner/cli/live_block.hpp"
#include "tuner/report/table.hpp"

/// The output of a verb: results on stdout, progress and everything else on stderr, as text for people or as one JSON
/// object a line (docs/progress.md). One a process, used by any thread.
namespace tilewright::cli {

class Console {
 public:
  /// Results. Throws Error when stdout cannot be written (a full disk); a reader that went away (a closed pipe) ends
  /// the program quietly, as it does other programs.
  /// Control characters are spelled, here and in what is said: a file of others may have them (cache/base/visible.hpp).
  void print(const std::string& text);
  void print(const Table& table, Format format);
  void print(const std::vector<Table>& tables, Format format);
  /// A line for people, on stderr; an event "message" where the log is JSON.
  void say(const std::string& line);
  /// The error that the program ends with; an event "error" where the log is JSON.
  void say_error(const std::string& text);

  /// From now on stderr has events alone.
  void log_as_json() noexcept { json_ = true; }
  [[nodiscard]] bool logs_json() const noexcept { return json_; }
  /// Logs an object, whose "event" names its kind, where the log is JSON; the time is added.
  void log(const nlohmann::ordered_json& event);

  /// Lines below all else on a terminal, which the next take the place of; what is said meanwhile stands above them.
  /// Nothing is drawn while the program is in the background.
  void show_live(const std::vector<std::string>& lines);
  void clear_live();
  [[nodiscard]] bool live_possible() const noexcept;

  /// Columns of the terminal behind stdout, or COLUMNS, or 120 where there is none.
  [[nodiscard]] std::size_t width() const;
  /// Whether stdout is a terminal that shows colours, and NO_COLOR (https://no-color.org) does not forbid them.
  [[nodiscard]] bool colours() const noexcept;
  /// Columns of the terminal behind stderr that a live line may fill.
  [[nodiscard]] std::size_t live_width() const;

 private:
  void write(const std::string& text);
  /// A shell has written to the terminal, or may any moment.
  void forget_if_disturbed();

  std::mutex mutex_;
  LiveBlock block_;
  bool json_ = false;
};

}  // namespace tilewright::cli
