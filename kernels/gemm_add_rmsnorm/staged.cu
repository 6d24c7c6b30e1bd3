// SPDX-License-Identifier: Apache-2.0
//
// gemm_add_rmsnorm on Hopper's tensor cores, the residual ahead: gemm/fused/added_staged.cuh, then the norm.

#include "gemm/fused/added_staged.cuh"
#include "rows.cuh"
