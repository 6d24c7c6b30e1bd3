// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes the place of device/ptx/grid_dependency.cuh: launches follow one another whole.

namespace tilewright::ptx {

inline void grid_dependency_wait() {}
inline void grid_launch_dependents() {}

}  // namespace tilewright::ptx
