// SPDX-License-Identifier: Apache-2.0
//
// gemm_add_layernorm on Hopper's tensor cores for few rows: gemm/fused/added_spread.cuh, then the norm.

#include "gemm/fused/added_spread.cuh"
#include "rows.cuh"
