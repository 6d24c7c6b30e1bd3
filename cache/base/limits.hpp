// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tilewright {

/// Dims of an op: what the launch library finds a plan by has room for so many.
inline constexpr std::size_t kMostDims = 8;

/// Arguments of an op: what a launch has on its stack has room for so many.
inline constexpr std::size_t kMostArgs = 64;

/// Tensor maps of a plan.
inline constexpr std::size_t kMostMaps = 8;

/// Values that the host computes for a plan's kernels.
inline constexpr std::size_t kMostValues = 8;

/// Workspaces of a plan: a launch has their addresses on its stack.
inline constexpr std::size_t kMostWorkspaces = 8;

}  // namespace tilewright
