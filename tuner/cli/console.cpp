// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/console.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cache/base/error.hpp"
#include "cache/base/visible.hpp"
#include "tuner/cli/interrupt.hpp"

namespace tilewright::cli {
namespace {

constexpr std::size_t kWidthWithoutTerminal = 120;

/// Zeros if `descriptor` is no terminal.
TerminalSize terminal_size(int descriptor) {
  winsize size{};
  if (isatty(descriptor) == 0 || ioctl(descriptor, TIOCGWINSZ, &size) != 0) return {};
  return {size.ws_col, size.ws_row};
}

/// Writes at once, so that no other process writes in between; a terminal that went away is no error.
void write_log(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = write(STDERR_FILENO, text.data() + at, text.size() - at);
    if (count < 0 && errno != EINTR && errno != EAGAIN) return;
    if (count > 0) at += static_cast<std::size_t>(count);
  }
}

/// Whether the shell has the terminal, so that its user may type.
bool in_background() {
  const pid_t front = tcgetpgrp(STDERR_FILENO);
  return front > 0 && front != getpgrp();
}

/// "2026-03-01T14:05:00.123Z"
std::string now() {
  const auto time = std::chrono::system_clock::now();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count() % 1000;
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(time)), milliseconds);
}

}  // namespace

void Console::print(const std::string& text) { write(visible(text)); }

void Console::write(const std::string& text) {
  clear_live();
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  throw Error(fmt::format("writing the result to standard output failed: {}", std::strerror(errno)));
}

void Console::print(const Table& table, Format format) { write(render(table, format, width(), colours())); }
void Console::print(const std::vector<Table>& tables, Format format) {
  write(render(tables, format, width(), colours()));
}

void Console::say(const std::string& line) {
  if (json_) return log({{"event", "message"}, {"text", line}});
  const std::lock_guard lock(mutex_);
  forget_if_disturbed();
  write_log(block_.write_above(visible(line) + "\n", terminal_size(STDERR_FILENO)));
}

void Console::say_error(const std::string& text) {
  if (json_) return log({{"event", "error"}, {"text", text}});
  clear_live();
  say("tilewright: " + text);
}

void Console::log(const nlohmann::ordered_json& event) {
  nlohmann::ordered_json stamped{{"time", now()}};
  stamped.update(event);
  const std::lock_guard lock(mutex_);
  // Paths may not be UTF-8.
  write_log(visible(stamped.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n");
}

void Console::show_live(const std::vector<std::string>& lines) {
  const std::lock_guard lock(mutex_);
  forget_if_disturbed();
  if (in_background()) return;
  write_log(block_.draw(lines, terminal_size(STDERR_FILENO)));
}

void Console::clear_live() {
  const std::lock_guard lock(mutex_);
  forget_if_disturbed();
  write_log(block_.clear(terminal_size(STDERR_FILENO)));
}

void Console::forget_if_disturbed() {
  if (was_continued() || in_background()) block_.forget();
}

std::size_t Console::live_width() const {
  const std::size_t columns = terminal_size(STDERR_FILENO).columns;
  return columns == 0 ? kWidthWithoutTerminal : columns - 1;
}

bool Console::live_possible() const noexcept {
  const char* terminal = std::getenv("TERM");
  return !json_ && isatty(STDERR_FILENO) != 0 && (terminal == nullptr || std::strcmp(terminal, "dumb") != 0);
}

bool Console::colours() const noexcept {
  const char* terminal = std::getenv("TERM");
  const char* none = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (none == nullptr || *none == '\0') &&
         (terminal == nullptr || std::strcmp(terminal, "dumb") != 0);
}

std::size_t Console::width() const {
  if (const std::size_t columns = terminal_size(STDOUT_FILENO).columns; columns != 0) return columns;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr) {
    if (const long given = std::strtol(columns, nullptr, 10); given > 0) return static_cast<std::size_t>(given);
  }
  return kWidthWithoutTerminal;
}

}  // namespace tilewright::cli
