// SPDX-License-Identifier: Apache-2.0
#pragma once

// How ops that are a gemm and more take gemm's pieces: those are templates over a config, and what an op does otherwise is a
// config of its own around the op's, for which a piece is specialised.

#include "device/config.cuh"

namespace tilewright::gemm {

// Operands as a Linear layer has them, a[m,k] and b[n,k], of 16 bits.
template <class Config>
struct Linear : Config {
  static constexpr Name layout{"nt"}, math{"ieee"};
};

// A product alone: what is done to its sums was done before they are stored.
template <class Config>
struct Plain : Config {
  static constexpr Name bias{"no"}, act{"none"}, residual{"no"};
};

}  // namespace tilewright::gemm
