// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cache/driver/executable.hpp"

/// A shape's config loaded into a context, with its workspaces laid out. Immutable, shared by all threads.
namespace tilewright::launch {

struct ReadyPlan {
  /// The place of a workspace: in memory that kernels find as others left it, or in memory that they find and leave
  /// zero.
  struct Placement {
    bool zeroed = false;
    std::size_t offset = 0;
  };

  /// `what`: see `origin`.
  ReadyPlan(cuda::Executable loaded, std::string what);

  // Fields that each launch reads come first.
  std::vector<Placement> placements;
  cuda::Executable executable;
  /// The content that it was made of: two plans of one shape in one context with the same origin are the same.
  std::string origin;
  /// Of each argument with strides, in call order, the elements of a row; and of each of their strides how many rows or
  /// sets of rows, lie so far apart.
  std::vector<std::int64_t> row_elements;
  std::vector<std::int64_t> stride_extents;
  std::size_t scratch_bytes = 0;
  std::size_t zeroed_bytes = 0;
};

/// The bytes of all workspaces of a plan as ReadyPlan lays them out, each aligned as the driver aligns an allocation.
[[nodiscard]] std::size_t workspace_bytes(const LaunchPlan& plan) noexcept;

}  // namespace tilewright::launch
