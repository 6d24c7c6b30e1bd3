// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/tensor_copy5.cuh, which is not modelled: only the driver knows a tensor map's format.

#include "device/config.cuh"
#include "device/tensor_map.cuh"
#include "emulator/device/ptx/unmodelled.h"

namespace tilewright::ptx {

struct BoxCorner5 {
  i32 x, y, z, w, v;
};

template <class... None>
inline void tensor_load(void*, const TensorMap&, BoxCorner5, u64*) {
  static_assert(emulator::kIsModelled<None...>,
                "the emulator does not model copies by tensor maps: this kernel needs a GPU");
}

}  // namespace tilewright::ptx
