// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/terminal.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>
#include <thread>

namespace tilewright::testing {
namespace {

constexpr std::chrono::seconds kLongest{120};
constexpr std::chrono::milliseconds kBetweenLooks{50};

int next_number() {
  static int next = 0;
  return next++;
}

}  // namespace

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char letter : text) result += letter == '\'' ? "'\\''" : std::string(1, letter);
  return result + "'";
}

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((command + " 2>&1").c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> buffer{};
  while (pipe) {
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe.get());
    if (count == 0) break;
    text.append(buffer.data(), count);
  }
  return text;
}

// Each terminal has its own server: one that is still ending would end a new terminal, too.
Terminal::Terminal(const std::filesystem::path& folder, int columns, int rows)
    : socket_((folder / fmt::format("tmux-{}", next_number())).string()) {
  (void)tmux(fmt::format("-f /dev/null new-session -d -x {} -y {} 'env PS1=\"$ \" HISTFILE= bash --norc --noprofile'",
                         columns, rows));
  (void)tmux("set-option -g history-limit 5000");
}

Terminal::~Terminal() { (void)tmux("kill-server"); }

bool Terminal::is_there() { return output_of("command -v tmux").find("tmux") != std::string::npos; }

std::string Terminal::tmux(const std::string& command) const {
  return output_of(fmt::format("env -u TMUX LC_ALL=C.UTF-8 tmux -u -S {} {}", quoted(socket_), command));
}

void Terminal::put(const std::string& text) const { (void)tmux("send-keys -l -- " + quoted(text)); }

void Terminal::press(const std::string& key) const { (void)tmux("send-keys " + key); }

void Terminal::type(const std::string& line) const {
  put(line);
  press("Enter");
}

void Terminal::resize(int columns, int rows) const {
  (void)tmux(fmt::format("resize-window -x {} -y {}", columns, rows));
}

std::string Terminal::screen(bool history) const { return tmux(history ? "capture-pane -p -S -" : "capture-pane -p"); }

bool Terminal::wait_for(const std::function<bool(const std::string&)>& so) const {
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (!so(screen())) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return true;
}

bool Terminal::wait_for(const std::string& text) const {
  return wait_for([&](const std::string& screen) { return screen.find(text) != std::string::npos; });
}

bool Terminal::is_sane() const {
  if (tmux("display-message -p '#{cursor_flag} #{wrap_flag} #{keypad_flag} #{alternate_on}'") != "1 1 0 0\n")
    return false;
  type("echo sum is $((20 + 22)), $(stty -a | grep -o ' echo ')");
  return wait_for("sum is 42, echo");
}

}  // namespace tilewright::testing
