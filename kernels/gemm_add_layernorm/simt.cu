// SPDX-License-Identifier: Apache-2.0
//
// gemm_add_layernorm without tensor cores, for what nothing else serves: gemm/fused/added_simt.cuh, then the norm.

#include "gemm/fused/added_simt.cuh"
#include "rows.cuh"
