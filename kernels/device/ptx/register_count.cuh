// SPDX-License-Identifier: Apache-2.0
#pragma once

// setmaxnreg: a warpgroup returns registers to the block's pool, or takes more from it and waits until there are
// enough. A count is a multiple of 8 from 24 to 256. All warps of the warpgroup must call, in a kernel bound to one
// block per SM (__launch_bounds__(threads, 1)). sm_90a only.

#include "device/config.cuh"

namespace tilewright::ptx {

template <int kRegisters>
__device__ __forceinline__ void release_registers() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0, "a count that setmaxnreg takes");
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ __forceinline__ void acquire_registers() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0, "a count that setmaxnreg takes");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace tilewright::ptx
