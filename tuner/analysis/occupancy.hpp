// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "cache/model/device_facts.hpp"

/// The share of an SM's warps that a kernel can occupy, from compiler figures and launch, without opening a device.
/// Pure.
namespace tilewright {

struct BlockNeeds {
  std::int64_t threads = 0;
  /// Per thread.
  int registers = 0;
  /// Static and dynamic, per block.
  std::int64_t shared_bytes = 0;
};

/// 0.5 means half of the warps. Follows the allocation rules of compute capabilities 7.x to 12.x: registers in units of
/// 256 per warp, on each of four SM partitions; shared memory in units of 128 bytes, plus 1 KiB of system memory per
/// block from 8.0 on. Nullopt for the emulator, if no block fits on an SM, or if a figure is unknown.
[[nodiscard]] std::optional<double> occupancy(const BlockNeeds& block, const DeviceFacts& device);

}  // namespace tilewright
