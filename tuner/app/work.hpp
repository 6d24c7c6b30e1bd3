// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuner/app/listener.hpp"
#include "tuner/compile/compiler.hpp"
#include "tuner/worker/device_pool.hpp"

/// The devices and compilers of a request, each in a process of its own. This program serves as these processes, too.
namespace tilewright::app {

struct Work {
  /// "auto" (the first GPU, else the emulator), "all" (GPUs), or names: "cpu", "cuda", "cuda:1".
  std::vector<std::string> devices{"auto"};
  /// A config without progress is stopped after this time; 0: the default.
  std::chrono::seconds timeout{0};
  std::chrono::seconds compile_timeout{120};
  /// Compile workers; 0: one for each core.
  int jobs = 0;
};

/// If the words of the command line ask for a worker, serves as one until its parent ends; true if it ended well.
/// nullopt for any other words.
[[nodiscard]] std::optional<bool> serve_as_worker(const std::vector<std::string>& words);

/// The names, with "cuda:0" for "cuda". Throws UsageError for an unknown name, a GPU named twice, the emulator with a
/// GPU, or "all" or "auto" with others.
[[nodiscard]] std::vector<std::string> checked_devices(std::vector<std::string> names);
/// Null if cancelled. Throws DeviceError if no device can be opened.
[[nodiscard]] std::unique_ptr<DevicePool> open_devices(const Work& work, Listener& listener);
/// Stops a compile when cancelled. `listener` must outlive it.
[[nodiscard]] std::unique_ptr<Compiler> open_compiler(const Work& work, bool emulator, const Listener& listener);

}  // namespace tilewright::app
