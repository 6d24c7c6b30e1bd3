// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/retakes.hpp"

#include <chrono>
#include <thread>

namespace tilewright {
namespace {

// A process needs some tenths of a second to end, as does a GPU to cool by a degree.
constexpr std::chrono::milliseconds kFirstWait{100};
constexpr std::chrono::milliseconds kRetakePoll{20};

}  // namespace

bool wait_for_retake(int retake, const std::function<bool()>& interrupted) {
  const auto until = std::chrono::steady_clock::now() + kFirstWait * (1 << retake);
  while (std::chrono::steady_clock::now() < until) {
    if (interrupted && interrupted()) return false;
    std::this_thread::sleep_for(kRetakePoll);
  }
  return true;
}

}  // namespace tilewright
