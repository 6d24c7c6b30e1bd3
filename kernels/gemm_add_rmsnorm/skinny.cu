// SPDX-License-Identifier: Apache-2.0
//
// gemm_add_rmsnorm for few rows: gemm/fused/added_skinny.cuh, then the norm.

#include "gemm/fused/added_skinny.cuh"
#include "rows.cuh"
