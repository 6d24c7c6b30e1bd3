// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

/// A real terminal for tests: a shell in tmux, whose screen the tests read.
namespace tilewright::testing {

class Terminal {
 public:
  /// `folder` holds its socket. The shell has the prompt "$ " and no history.
  Terminal(const std::filesystem::path& folder, int columns, int rows);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  /// Whether tmux is installed; scripts/setup --tests installs it.
  [[nodiscard]] static bool is_there();

  /// Types text and Enter.
  void type(const std::string& line) const;
  /// Presses a key, by tmux's name: C-c, C-z, Tab.
  void press(const std::string& key) const;
  /// Types text without Enter.
  void put(const std::string& text) const;
  void resize(int columns, int rows) const;

  /// The screen's lines, without trailing blanks; with `history` those scrolled away, too.
  [[nodiscard]] std::string screen(bool history = false) const;
  /// Waits until `so` holds for the screen; returns false after two minutes.
  [[nodiscard]] bool wait_for(const std::function<bool(const std::string&)>& so) const;
  [[nodiscard]] bool wait_for(const std::string& text) const;
  /// Whether the cursor is visible, lines wrap, and typed commands are echoed and run.
  [[nodiscard]] bool is_sane() const;

 private:
  /// The output of a tmux command.
  [[nodiscard]] std::string tmux(const std::string& command) const;

  std::string socket_;
};

/// Quotes a text for a shell.
[[nodiscard]] std::string quoted(const std::string& text);
/// A shell command's output, with errors.
[[nodiscard]] std::string output_of(const std::string& command);

}  // namespace tilewright::testing
