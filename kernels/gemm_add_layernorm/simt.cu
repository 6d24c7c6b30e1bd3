// SPDX-License-Identifier: Apache-2.0
//
// gemm_add_layernorm without tensor cores, which serves what nothing else does: gemm/fused/added_simt.cuh, then the
// norm.

#include "gemm/fused/added_simt.cuh"
#include "rows.cuh"
