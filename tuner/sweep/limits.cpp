// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tuner/compile/ptxas_log.hpp"

namespace tilewright {
namespace {

std::optional<std::string> exceeded_by(const PlannedKernel& planned, const KernelFacts& compiled,
                                       const DeviceFacts& device) {
  const std::int64_t threads = std::int64_t{planned.block[0]} * planned.block[1] * planned.block[2];
  if (const int most = threads_for_registers(compiled.registers); compiled.registers > 0 && threads > most) {
    return fmt::format("{}: blocks of {} threads with {} registers each; a block has registers for {} threads",
                       planned.entry, threads, compiled.registers, most);
  }
  const std::int64_t shared = std::int64_t{planned.shared_bytes} + compiled.static_shared_bytes;
  if (shared > device.shared_per_block_optin) {
    return fmt::format("{}: {} bytes of shared memory a block ({} of them static); the device has {}", planned.entry,
                       shared, compiled.static_shared_bytes, device.shared_per_block_optin);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> exceeded_limit(const LaunchPlan& plan, const std::vector<KernelFacts>& kernels,
                                          const DeviceFacts& device) {
  for (const PlannedKernel& planned : plan.kernels) {
    const auto compiled = std::find_if(kernels.begin(), kernels.end(),
                                       [&](const KernelFacts& facts) { return facts.entry == planned.entry; });
    if (compiled == kernels.end()) continue;
    if (auto reason = exceeded_by(planned, *compiled, device)) return reason;
  }
  return std::nullopt;
}

}  // namespace tilewright
