// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/store/store.hpp"

/// Devices by name, with no device opened.
namespace tilewright::app {

/// The devices that `name` means: all of the cache when it is empty; the emulator for `cpu`; any device of an
/// architecture for `sm_90`; else those of the cache with that fingerprint or name, or with a name that it is a part of
/// (in any case). Throws UsageError with the nearest right name.
[[nodiscard]] std::vector<DeviceFacts> choose_devices(const Store& store, const std::string& name);

/// A GPU known by its architecture alone ("sm_90", "sm_90a"); its limits are those of the first GPU with it. "cpu"
/// gives the emulator. Throws UsageError for any other text.
[[nodiscard]] DeviceFacts facts_of_arch(const std::string& arch);

}  // namespace tilewright::app
