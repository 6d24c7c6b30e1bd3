// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tuner/device/device.hpp"

/// The worker's side of DeviceProcess (device_process.hpp). One thread.
namespace tilewright {

/// Opens a device; sets `said` as open_device does.
using OpenDevice = std::function<std::unique_ptr<Device>(std::string* said)>;

/// The driver's facts of the GPU to be opened, or nullopt if it is no GPU or absent.
using SeeDevice = std::function<std::optional<DeviceSight>()>;

/// Sends the sight, opens the device, then carries out the messages that arrive over `socket` until it closes. Returns
/// the process's exit code.
int serve_device(const OpenDevice& open, int socket, const SeeDevice& see = {});

}  // namespace tilewright
