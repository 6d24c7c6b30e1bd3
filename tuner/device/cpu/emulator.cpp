// SPDX-License-Identifier: Apache-2.0
#include "tuner/device/cpu/emulator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/device/cpu/execution.hpp"

namespace tilewright {
namespace {

constexpr unsigned kMaxBlockThreads = 1024;
constexpr unsigned kMaxClusterBlocks = 16;
/// The most shared memory per block on the largest current GPU.
constexpr std::size_t kMaxSharedBytes = 227 * 1024;

std::uint64_t volume(const std::array<unsigned, 3>& extent) { return std::uint64_t{extent[0]} * extent[1] * extent[2]; }

/// Why no GPU would accept this launch; empty if one would.
std::string objection(const EmulatedLaunch& launch) {
  for (const auto* extent : {&launch.grid, &launch.block, &launch.cluster}) {
    for (const unsigned size : *extent) {
      if (size == 0) return "an extent is zero";
    }
  }
  if (launch.grid[0] > 0x7fffffffu || launch.grid[1] > 65535 || launch.grid[2] > 65535) {
    return fmt::format("a grid has at most 2147483647 x 65535 x 65535 blocks, this one {}",
                       fmt::join(launch.grid, " x "));
  }
  if (volume(launch.block) > kMaxBlockThreads || launch.block[2] > 64) {
    return fmt::format("a block has at most 1024 threads, 64 along z, this one {}", fmt::join(launch.block, " x "));
  }
  if (volume(launch.cluster) > kMaxClusterBlocks) {
    return fmt::format("a cluster has at most 16 blocks, this one {}", fmt::join(launch.cluster, " x "));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (launch.grid[i] % launch.cluster[i] != 0) {
      return fmt::format("the grid {} is not a multiple of the cluster {}", fmt::join(launch.grid, " x "),
                         fmt::join(launch.cluster, " x "));
    }
  }
  if (launch.shared_bytes > kMaxSharedBytes) {
    return fmt::format("a block has at most {} bytes of dynamic shared memory, this one {}", kMaxSharedBytes,
                       launch.shared_bytes);
  }
  return {};
}

EmulatedOutcome bad_launch(const EmulatedLaunch& launch, const std::string& reason) {
  return {EmulatedOutcome::Status::bad_launch, fmt::format("Launching kernel {} failed: {}", launch.entry, reason)};
}

}  // namespace

EmulatedOutcome run(const EmulatorModule& module, const EmulatedLaunch& launch) {
  const emulator::Entry* entry = module.find(launch.entry);
  if (entry == nullptr) {
    return bad_launch(launch, fmt::format("the module has only: {}", fmt::join(module.entries(), ", ")));
  }
  if (const std::string reason = objection(launch); !reason.empty()) return bad_launch(launch, reason);
  thread_local emulator::Window window(&emulator::Execution::fiber_main);
  emulator::Execution execution(window, module, *entry, launch);
  EmulatedOutcome outcome = execution.run();
  if (!outcome.ok()) window.reset();
  return outcome;
}

}  // namespace tilewright
