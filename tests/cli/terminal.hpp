// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

/// A real terminal for tests: tmux with a shell in it, looked at as a person would.
namespace tilewright::testing {

class Terminal {
 public:
  /// `folder` is where its socket lies. The shell has a prompt of "$ " and no history.
  Terminal(const std::filesystem::path& folder, int columns, int rows);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  /// False where there is no tmux; scripts/setup --tests brings it.
  [[nodiscard]] static bool is_there();

  /// Types text and Enter.
  void type(const std::string& line) const;
  /// A key by tmux's name: C-c, C-z, Tab.
  void press(const std::string& key) const;
  /// Text with no Enter.
  void put(const std::string& text) const;
  void resize(int columns, int rows) const;

  /// What is seen, one line each, trailing blanks gone; with `history` what was scrolled away, too.
  [[nodiscard]] std::string screen(bool history = false) const;
  /// Waits until the screen is so; false when that takes longer than two minutes.
  [[nodiscard]] bool wait_for(const std::function<bool(const std::string&)>& so) const;
  [[nodiscard]] bool wait_for(const std::string& text) const;
  /// The cursor can be seen, lines wrap, and what is typed is run and shown.
  [[nodiscard]] bool is_sane() const;

 private:
  /// What tmux prints for this command.
  [[nodiscard]] std::string tmux(const std::string& command) const;

  std::string socket_;
};

/// For a shell: in quotes.
[[nodiscard]] std::string quoted(const std::string& text);
/// What a shell command prints, errors included.
[[nodiscard]] std::string output_of(const std::string& command);

}  // namespace tilewright::testing
