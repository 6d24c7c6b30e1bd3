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

/// The devices and compilers of a request, each in processes of their own, which this program serves as well.
namespace tilewright::app {

struct Work {
  /// "auto" (the first GPU, else the emulator), "all" (GPUs), or each by name: "cpu", "cuda:1".
  std::vector<std::string> devices{"auto"};
  /// Without progress a config is stopped after so long; 0: the usual time.
  std::chrono::seconds timeout{0};
  std::chrono::seconds compile_timeout{120};
  /// Compile workers; 0: one a core.
  int jobs = 0;
};

/// Serves another process of this program, where these words of the command line say so, and ends with it: whether it
/// ended well. Nothing: they are no worker's.
[[nodiscard]] std::optional<bool> serve_as_worker(const std::vector<std::string>& words);

/// Throws UsageError for devices that cannot be swept together: one twice, the emulator with a GPU, "all" with others.
void check_devices(const std::vector<std::string>& names);
/// Null when cancelled meanwhile. Throws DeviceError where none can be opened.
[[nodiscard]] std::unique_ptr<DevicePool> open_devices(const Work& work, Listener& listener);
/// Ends with what it compiles when cancelled. `listener` must outlive it.
[[nodiscard]] std::unique_ptr<Compiler> open_compiler(const Work& work, bool emulator, const Listener& listener);

}  // namespace tilewright::app
