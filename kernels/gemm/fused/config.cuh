// SPDX-License-Identifier: Apache-2.0
#pragma once

// The configs by which ops around a gemm take gemm's pieces. The pieces are templates over a config; where an op
// differs, it wraps its config in another one, for which a piece is specialised.

#include "device/config.cuh"

namespace tilewright::gemm {

// Operands as a Linear layer has them, a[m,k] and b[n,k], of 16 bits.
template <class Config>
struct Linear : Config {
  static constexpr Name layout{"nt"}, math{"ieee"};
};

// A product alone, whose sums are finished before they are stored.
template <class Config>
struct Plain : Config {
  static constexpr Name bias{"no"}, act{"none"}, residual{"no"};
};

}  // namespace tilewright::gemm
