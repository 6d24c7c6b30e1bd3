// SPDX-License-Identifier: Apache-2.0
//
// gemm_add_rmsnorm on Hopper's tensor cores: gemm/fused/added_wgmma.cuh, then the norm.

#include "gemm/fused/added_wgmma.cuh"
#include "rows.cuh"
