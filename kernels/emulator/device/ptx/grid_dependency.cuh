// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/grid_dependency.cuh: does nothing, since launches do not overlap.

namespace tilewright::ptx {

inline void grid_dependency_wait() {}
inline void grid_launch_dependents() {}

}  // namespace tilewright::ptx
