// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/ready_plan.hpp"

#include <utility>

namespace tilewright::launch {

namespace {

constexpr std::size_t kAlignment = 256;

std::size_t aligned(std::size_t bytes) noexcept { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

ReadyPlan::ReadyPlan(cuda::Executable loaded, std::string what)
    : executable(std::move(loaded)), origin(std::move(what)) {
  for (const PlannedWorkspace& workspace : executable.plan().workspaces) {
    const bool zeroed = workspace.zero == WorkspaceRecipe::Zero::once;
    std::size_t& end = zeroed ? zeroed_bytes : scratch_bytes;
    placements.push_back({zeroed, end});
    end += aligned(workspace.bytes);
  }
  for (const PlannedArg& arg : executable.plan().args) {
    if (!arg.strides.empty()) row_elements.push_back(arg.shape.back());
    for (const PlannedStride& stride : arg.strides) stride_extents.push_back(stride.extent);
  }
}

std::size_t workspace_bytes(const LaunchPlan& plan) noexcept {
  std::size_t bytes = 0;
  for (const PlannedWorkspace& workspace : plan.workspaces) bytes += aligned(workspace.bytes);
  return bytes;
}

}  // namespace tilewright::launch
