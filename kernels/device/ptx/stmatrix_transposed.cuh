// SPDX-License-Identifier: Apache-2.0
#pragma once

// stmatrix (ptx/stmatrix.cuh) that transposes the matrices: register m of lane l holds elements l / 4 of rows 2(l % 4)
// and 2(l % 4) + 1 of matrix m in shared memory.

#include "device/ptx/address.cuh"

namespace tilewright::ptx {

__device__ __forceinline__ void stmatrix_x4_transposed(void* row, const u32 (&from)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
               "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
               : "memory");
}

}  // namespace tilewright::ptx
