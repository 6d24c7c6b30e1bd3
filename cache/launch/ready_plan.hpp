// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cache/driver/executable.hpp"

/// A shape's config, loaded into a context, with its workspaces laid out. Immutable, shared by all threads.
namespace tilewright::launch {

struct ReadyPlan {
  /// The place of a workspace: in memory that kernels find and leave zero (`zeroed`), or in scratch memory of any
  /// content.
  struct Placement {
    bool zeroed = false;
    std::size_t offset = 0;
  };

  /// `what` becomes `origin`.
  ReadyPlan(cuda::Executable loaded, std::string what);

  // The fields that a launch reads come first.
  std::vector<Placement> placements;
  cuda::Executable executable;
  /// The content that it was made of: plans of one shape and context with equal origins are equal.
  std::string origin;
  /// In call order: the elements of a row, for each argument with strides; and for each of their strides, the number of
  /// rows, or sets of rows, that it separates.
  std::vector<std::int64_t> row_elements;
  std::vector<std::int64_t> stride_extents;
  std::size_t scratch_bytes = 0;
  std::size_t zeroed_bytes = 0;
};

/// The bytes of a plan's workspaces as ReadyPlan lays them out, each aligned to 256 as the driver's allocations are.
[[nodiscard]] std::size_t workspace_bytes(const LaunchPlan& plan) noexcept;

}  // namespace tilewright::launch
