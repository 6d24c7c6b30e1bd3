// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes the place of device/ptx/tensor_copy3.cuh: what a tensor map says is known to the driver alone, and so it is not
// modelled.

#include "device/config.cuh"
#include "device/tensor_map.cuh"
#include "emulator/device/ptx/unmodelled.h"

namespace tilewright::ptx {

struct BoxCorner3 {
  i32 x, y, z;
};

template <class... None>
inline void tensor_load(void*, const TensorMap&, BoxCorner3, u64*) {
  static_assert(emulator::kIsModelled<None...>,
                "the emulator does not model copies by tensor maps: this kernel needs a GPU");
}

}  // namespace tilewright::ptx
