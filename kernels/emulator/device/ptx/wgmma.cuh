// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/wgmma.cuh, which is not modelled.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "device/config.cuh"
#include "emulator/device/ptx/unmodelled.h"

#define TILEWRIGHT_NO_WGMMA(...) \
  static_assert(emulator::kIsModelled<__VA_ARGS__>, "the emulator does not model wgmma: this kernel needs a GPU")

namespace tilewright::ptx {

template <class Pointer>
inline u64 matrix_descriptor(Pointer, u32, u32) {
  TILEWRIGHT_NO_WGMMA(Pointer);
  return 0;
}
template <class... None>
inline u64 advance(u64, u32) {
  TILEWRIGHT_NO_WGMMA(None...);
  return 0;
}
template <class... None>
inline void wgmma_fence() {
  TILEWRIGHT_NO_WGMMA(None...);
}
template <class... None>
inline void wgmma_commit() {
  TILEWRIGHT_NO_WGMMA(None...);
}
template <int kGroupsLeft, class... None>
inline void wgmma_wait() {
  TILEWRIGHT_NO_WGMMA(None...);
}
template <class T, int N, bool kTransposedA, bool kTransposedB>
inline void wgmma(float (&)[N / 2], u64, u64, bool) {
  TILEWRIGHT_NO_WGMMA(T);
}

}  // namespace tilewright::ptx

#undef TILEWRIGHT_NO_WGMMA
