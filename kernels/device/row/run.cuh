// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a row op by the skeleton that names the config's implementation; tensors.cuh has the contract of an op.

#include "device/config.cuh"
#include "device/row/onchip.cuh"
#include "device/row/staged.cuh"
#include "device/row/streaming.cuh"

namespace tilewright::row {

// Blocks per SM for __launch_bounds__, from the config's warps per SM.
template <class Config>
__device__ constexpr int blocks_per_sm() {
  if constexpr (requires { Config::warps_per_sm; }) {
    return Config::warps_per_sm > Config::num_warps ? Config::warps_per_sm / Config::num_warps : 1;
  } else {
    return 1;
  }
}

template <class Config, class Op>
__device__ __forceinline__ void run(const Op& op, i64 rows, i64 cols) {
  if constexpr (Config::implementation == "onchip") {
    onchip<Config>(op, rows, cols);
  } else if constexpr (Config::implementation == "staged" || Config::implementation == "cluster") {
    Staged<Config, Op>(op, rows, cols).run();
  } else {
    static_assert(Config::implementation == "streaming", "an implementation of a row op is named for its skeleton");
    streaming<Config>(op, rows, cols);
  }
}

}  // namespace tilewright::row
