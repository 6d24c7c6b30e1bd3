// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tuner/device/device.hpp"

/// The other side of DeviceProcess (device_process.hpp): what the process does that has the device.
namespace tilewright {

/// Opens a device; fills `said` as open_device does.
using OpenDevice = std::function<std::unique_ptr<Device>(std::string* said)>;

/// Tells of a GPU that is to be opened what its driver says of it; nothing of what is no GPU, or not there.
using SeeDevice = std::function<std::optional<DeviceSight>()>;

/// Tells what it sees, opens the device, then sets up problems and tries configs as the messages that come over
/// `socket` say, until there are no more. Returns the process's exit code.
int serve_device(const OpenDevice& open, int socket, const SeeDevice& see = {});

}  // namespace tilewright
