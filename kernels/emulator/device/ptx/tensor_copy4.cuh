// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/tensor_copy4.cuh, which is not modelled: only the driver knows a tensor map's format.

#include "device/config.cuh"
#include "device/tensor_map.cuh"
#include "emulator/device/ptx/unmodelled.h"

#define TILEWRIGHT_NO_TENSOR_COPY(...)              \
  static_assert(emulator::kIsModelled<__VA_ARGS__>, \
                "the emulator does not model copies by tensor maps: this kernel needs a GPU")

namespace tilewright::ptx {

struct BoxCorner {
  i32 x, y, z, w;
};

template <class... None>
inline void tensor_load(void*, const TensorMap&, BoxCorner, u64*) {
  TILEWRIGHT_NO_TENSOR_COPY(None...);
}
template <class... None>
inline void tensor_load_with_policy(void*, const TensorMap&, BoxCorner, u64*, u64) {
  TILEWRIGHT_NO_TENSOR_COPY(None...);
}

}  // namespace tilewright::ptx

#undef TILEWRIGHT_NO_TENSOR_COPY
