// SPDX-License-Identifier: Apache-2.0
//
// gemm_add_layernorm by mma.sync: gemm/fused/added_mma.cuh, then the norm.

#include "gemm/fused/added_mma.cuh"
#include "rows.cuh"
