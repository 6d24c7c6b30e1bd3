// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tilewright {

/// Most dims of an op: the size of the launch library's key of a plan.
inline constexpr std::size_t kMostDims = 8;

/// Most arguments of an op: a launch keeps them on its stack.
inline constexpr std::size_t kMostArgs = 64;

/// Most tensor maps of a plan.
inline constexpr std::size_t kMostMaps = 8;

/// Most values that the host computes for a plan's kernels.
inline constexpr std::size_t kMostValues = 8;

/// Most workspaces of a plan: a launch keeps their addresses on its stack.
inline constexpr std::size_t kMostWorkspaces = 8;

}  // namespace tilewright
