// SPDX-License-Identifier: Apache-2.0
//
// gemm_add_layernorm without tensor cores, the fallback: gemm/fused/added_simt.cuh, then the norm.

#include "gemm/fused/added_simt.cuh"
#include "rows.cuh"
