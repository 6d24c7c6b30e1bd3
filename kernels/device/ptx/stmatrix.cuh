// SPDX-License-Identifier: Apache-2.0
#pragma once

// stmatrix: a warp stores 8×8 matrices of 16-bit elements to shared memory, the inverse of ldmatrix (ptx/ldmatrix.cuh).
// Lane 8m + r gives the address of row r of matrix m (16 bytes, aligned to 16); register m of lane l holds elements 2(l
// % 4) and 2(l % 4) + 1 of row l / 4 of matrix m. All lanes of the warp must call. sm_90 and later.

#include "device/ptx/address.cuh"

namespace tilewright::ptx {

__device__ __forceinline__ void stmatrix_x4(void* row, const u32 (&from)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
               "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
               : "memory");
}

}  // namespace tilewright::ptx
