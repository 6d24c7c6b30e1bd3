// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/store/store.hpp"

/// Finds devices by name, without opening any.
namespace tilewright::app {

/// The devices that `name` means: all of the cache if it is empty; the emulator for `cpu`; any device of an
/// architecture for `sm_90`; else the cache's devices with that fingerprint or name, or with a fingerprint that
/// contains it (in any case). Throws UsageError with the nearest right name.
[[nodiscard]] std::vector<DeviceFacts> choose_devices(const Store& store, const std::string& name);

/// A GPU known by its architecture alone ("sm_90", "sm_90a"), with the shared memory limit of the architecture; its
/// other facts are the emulator's. "cpu" gives the emulator. Throws UsageError for any other text.
[[nodiscard]] DeviceFacts facts_of_arch(const std::string& arch);

}  // namespace tilewright::app
