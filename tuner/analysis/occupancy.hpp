// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "cache/model/device_facts.hpp"

/// The warps of a kernel that an SM can hold, of the most that it could hold: by compiler and launch, with no device
/// opened. Pure.
namespace tilewright {

struct BlockNeeds {
  std::int64_t threads = 0;
  /// A thread.
  int registers = 0;
  /// Static and dynamic, a block.
  std::int64_t shared_bytes = 0;
};

/// 0.5: half of the warps. By the rules of allocation of compute capabilities 7.x to 12.x (registers in units of 256 a
/// warp and on each of four parts of an SM; shared memory in units of 128 bytes with 1 KiB of the system's own for each
/// block from 8.0 on). Nothing for the emulator, for what fits in no SM, and where a figure is not known.
[[nodiscard]] std::optional<double> occupancy(const BlockNeeds& block, const DeviceFacts& device);

}  // namespace tilewright
