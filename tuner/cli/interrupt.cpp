// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/interrupt.hpp"

#include <atomic>
#include <csignal>
#include <initializer_list>

namespace tilewright::cli {
namespace {

// A signal handler can only set flags, which compile threads read as well.
std::atomic<bool> signalled = false;
std::atomic<bool> continued = false;
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { signalled = true; };
  // Handled once, so that a second Ctrl-C ends a program that does not stop; reads and writes are restarted.
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  struct sigaction going_on {};
  going_on.sa_handler = [](int) { continued = true; };
  going_on.sa_flags = SA_RESTART;
  sigaction(SIGCONT, &going_on, nullptr);
}

bool interrupted() noexcept { return signalled; }

bool was_continued() noexcept { return continued.exchange(false); }

}  // namespace tilewright::cli
