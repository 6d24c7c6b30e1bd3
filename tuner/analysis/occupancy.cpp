// SPDX-License-Identifier: Apache-2.0
#include "tuner/analysis/occupancy.hpp"

#include <algorithm>

#include "cache/model/formula/arithmetic.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t kWarpSize = 32;
constexpr std::int64_t kPartitions = 4;
constexpr std::int64_t kRegisterUnit = 256;
constexpr std::int64_t kSharedUnit = 128;
constexpr std::int64_t kSharedOfSystem = 1024;

/// Resident blocks per SM, from the technical specifications of the CUDA C++ Programming Guide.
std::int64_t most_blocks(int compute_capability) {
  switch (compute_capability) {
    case 75:
    case 86:
    case 87:
      return 16;
    case 89:
    case 120:
    case 121:
      return 24;
    default:
      return 32;
  }
}

}  // namespace

std::optional<double> occupancy(const BlockNeeds& block, const DeviceFacts& device) {
  if (device.is_cpu() || block.threads <= 0 || block.registers <= 0 || device.max_threads_per_sm < kWarpSize) return {};
  const std::int64_t warps = checked::ceil_div(block.threads, kWarpSize);
  const std::int64_t most_warps = device.max_threads_per_sm / kWarpSize;
  const std::int64_t of_warp = checked::ceil_div(block.registers * kWarpSize, kRegisterUnit) * kRegisterUnit;
  const std::int64_t held = device.registers_per_sm / kPartitions / of_warp * kPartitions;
  std::int64_t blocks = std::min({most_blocks(device.compute_capability), most_warps / warps, held / warps});
  const std::int64_t system = device.compute_capability >= 80 ? kSharedOfSystem : 0;
  const std::int64_t shared = checked::ceil_div(block.shared_bytes + system, kSharedUnit) * kSharedUnit;
  if (shared > 0) blocks = std::min(blocks, device.shared_per_sm / shared);
  if (blocks <= 0) return std::nullopt;
  return static_cast<double>(blocks * warps) / static_cast<double>(most_warps);
}

}  // namespace tilewright
