// SPDX-License-Identifier: Apache-2.0
#pragma once

// Configs through which ops around a gemm reuse its pieces. The pieces are templates over a config; an op wraps its
// config in another type, and specialises for it the pieces that differ.

#include "device/config.cuh"

namespace tilewright::gemm {

// Operands of a linear layer: a[m,k] and b[n,k], of 16 bits.
template <class Config>
struct Linear : Config {
  static constexpr Name layout{"nt"}, math{"ieee"};
};

// A product without epilogue: its sums are finished before they are stored.
template <class Config>
struct Plain : Config {
  static constexpr Name bias{"no"}, act{"none"}, residual{"no"};
};

}  // namespace tilewright::gemm
