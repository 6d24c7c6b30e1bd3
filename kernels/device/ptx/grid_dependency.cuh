// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programmatic dependent launch: kernels of one stream that overlap. Both do nothing in a kernel that was launched
// without the attribute. sm_90 and later.

#include "device/config.cuh"

namespace tilewright::ptx {

// Waits until the kernels before have ended and their writes are visible: before anything is read that they may write.
__device__ __forceinline__ void grid_dependency_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// Lets the next kernel start once all blocks have called; it still waits, as above, for this one's writes.
__device__ __forceinline__ void grid_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace tilewright::ptx
