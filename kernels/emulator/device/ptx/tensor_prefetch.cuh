// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/tensor_prefetch.cuh, which is not modelled (ptx/tensor_copy4.cuh).

#include "device/ptx/tensor_copy4.cuh"

#define TILEWRIGHT_NO_TENSOR_COPY(...)              \
  static_assert(emulator::kIsModelled<__VA_ARGS__>, \
                "the emulator does not model copies by tensor maps: this kernel needs a GPU")

namespace tilewright::ptx {

template <class... None>
inline void tensor_prefetch(const TensorMap&, BoxCorner) {
  TILEWRIGHT_NO_TENSOR_COPY(None...);
}

}  // namespace tilewright::ptx

#undef TILEWRIGHT_NO_TENSOR_COPY
