// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tuner/device/device.hpp"

/// The other side of DeviceProcess (device_process.hpp): what the process does that has the device.
namespace tilewright {

/// Opens a device; fills `said` as open_device does.
using OpenDevice = std::function<std::unique_ptr<Device>(std::string* said)>;

/// Opens the device, then sets up problems and tries configs as the messages that come over `socket` say, until there are
/// no more. Returns the process's exit code.
int serve_device(const OpenDevice& open, int socket);

}  // namespace tilewright
