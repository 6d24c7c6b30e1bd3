// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/console.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cache/error.hpp"
#include "tuner/report/units.hpp"

namespace tilewright::cli {
namespace {

constexpr std::size_t kWidthWithoutTerminal = 120;
constexpr const char* kEraseLine = "\r\x1b[2K";

/// 0 when `descriptor` is no terminal.
std::size_t terminal_width(int descriptor) {
  winsize size{};
  if (isatty(descriptor) == 0 || ioctl(descriptor, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

/// The first `width` characters of UTF-8 text.
std::string cut(const std::string& text, std::size_t width) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U) continue;
    if (characters++ == width) return text.substr(0, i);
  }
  return text;
}

}  // namespace

void Console::print(const std::string& text) {
  clear_live();
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  throw Error(fmt::format("writing the result to standard output failed: {}", std::strerror(errno)));
}

void Console::print(const Table& table, Format format) { print(render(table, format, width(), colours())); }

void Console::say(const std::string& line) {
  clear_live();
  fmt::print(stderr, "{}\n", line);
}

void Console::show_live(const std::string& line) {
  const std::size_t columns = terminal_width(STDERR_FILENO);
  // The last column stays free: writing into it would make some terminals scroll.
  fmt::print(stderr, "{}{}", kEraseLine, columns > 1 ? cut(line, columns - 1) : line);
  std::fflush(stderr);
  live_shown_ = true;
}

void Console::clear_live() {
  if (!live_shown_) return;
  fmt::print(stderr, "{}", kEraseLine);
  std::fflush(stderr);
  live_shown_ = false;
}

bool Console::live_possible() const noexcept {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && (terminal == nullptr || std::strcmp(terminal, "dumb") != 0);
}

bool Console::colours() const noexcept {
  const char* terminal = std::getenv("TERM");
  const char* none = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (none == nullptr || *none == '\0') &&
         (terminal == nullptr || std::strcmp(terminal, "dumb") != 0);
}

std::size_t Console::width() const {
  if (const std::size_t columns = terminal_width(STDOUT_FILENO); columns != 0) return columns;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr) {
    if (const long given = std::strtol(columns, nullptr, 10); given > 0) return static_cast<std::size_t>(given);
  }
  return kWidthWithoutTerminal;
}

}  // namespace tilewright::cli
