// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tuner/cli/arguments.hpp"
#include "tuner/worker/device_pool.hpp"

/// The devices of a sweep, each in a process of its own: --device and --devices.
namespace tilewright::cli {

/// The names that these options say: one without --devices; "all" alone is all GPUs. Throws UsageError for what cannot
/// be swept together: both options, a device twice, the emulator with a GPU.
[[nodiscard]] std::vector<std::string> device_names(const Arguments& arguments);

/// As the options say; null when interrupted meanwhile.
[[nodiscard]] std::unique_ptr<DevicePool> open_trial_devices(const Arguments& arguments,
                                                             std::function<void(const std::string&)> note);

}  // namespace tilewright::cli
