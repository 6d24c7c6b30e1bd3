// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/tensor_copy.cuh, which is not modelled: only the driver knows a tensor map's format.

#include "device/config.cuh"
#include "device/tensor_map.cuh"
#include "emulator/device/ptx/unmodelled.h"

#define TILEWRIGHT_NO_TENSOR_COPY(...)              \
  static_assert(emulator::kIsModelled<__VA_ARGS__>, \
                "the emulator does not model copies by tensor maps: this kernel needs a GPU")

namespace tilewright::ptx {

template <class... None>
inline void prefetch_map(const TensorMap&) {
  TILEWRIGHT_NO_TENSOR_COPY(None...);
}
template <class... None>
inline void tensor_load(void*, const TensorMap&, i32, i32, u64*) {
  TILEWRIGHT_NO_TENSOR_COPY(None...);
}
template <class... None>
inline void tensor_load_with_policy(void*, const TensorMap&, i32, i32, u64*, u64) {
  TILEWRIGHT_NO_TENSOR_COPY(None...);
}
template <class... None>
inline void tensor_load_multicast(void*, const TensorMap&, i32, i32, u64*, u16) {
  TILEWRIGHT_NO_TENSOR_COPY(None...);
}
template <class... None>
inline void tensor_store(const TensorMap&, i32, i32, const void*) {
  TILEWRIGHT_NO_TENSOR_COPY(None...);
}

}  // namespace tilewright::ptx

#undef TILEWRIGHT_NO_TENSOR_COPY
