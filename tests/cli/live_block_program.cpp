// SPDX-License-Identifier: Apache-2.0
// Draws a live block until Ctrl-C, for tests in a real terminal: its lines show the size for which they are drawn.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "tuner/cli/live_block.hpp"

namespace {

volatile std::sig_atomic_t stopped = 0;

tilewright::cli::TerminalSize size_now() {
  winsize size{};
  ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
  return {size.ws_col, size.ws_row};
}

void show(const std::string& frame) { (void)std::fwrite(frame.data(), 1, frame.size(), stderr); }

}  // namespace

int main() {
  (void)std::signal(SIGINT, [](int) { stopped = 1; });
  tilewright::cli::LiveBlock block;
  while (stopped == 0) {
    const auto size = size_now();
    std::vector<std::string> lines;
    for (std::size_t i = 1; i <= 5; ++i) {
      lines.push_back(fmt::format("LIVE {} of {}x{} {}", i, size.columns, size.rows, std::string(20 * i, 'x')));
    }
    show(block.draw(lines, size));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  show(block.clear(size_now()));
  std::puts("the result");
}
