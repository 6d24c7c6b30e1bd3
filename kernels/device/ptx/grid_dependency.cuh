// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programmatic dependent launch: kernels of one stream that overlap. Both functions do nothing in a kernel launched
// without the attribute. sm_90 and later.

#include "device/config.cuh"

namespace tilewright::ptx {

// Waits until the preceding kernels have ended and their writes are visible. Call before reading their results.
__device__ __forceinline__ void grid_dependency_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// Lets the next kernel start once all blocks have called; its grid_dependency_wait still waits for this one's writes.
__device__ __forceinline__ void grid_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace tilewright::ptx
