// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/wgmma_steps.cuh, which is not modelled.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "device/config.cuh"
#include "emulator/device/ptx/unmodelled.h"

#define TILEWRIGHT_NO_WGMMA(...) \
  static_assert(emulator::kIsModelled<__VA_ARGS__>, "the emulator does not model wgmma: this kernel needs a GPU")

namespace tilewright::ptx {

template <int kCount, class... None>
inline void wgmma_settle(float (&)[kCount]) {
  TILEWRIGHT_NO_WGMMA(None...);
}
template <class T, int N>
inline void wgmma_shared(float (&)[N / 2], u64, u64, bool) {
  TILEWRIGHT_NO_WGMMA(T);
}
template <class T, int N>
inline void wgmma_registers(float (&)[N / 2], const u32 (&)[4], u64, bool) {
  TILEWRIGHT_NO_WGMMA(T);
}

}  // namespace tilewright::ptx

#undef TILEWRIGHT_NO_WGMMA
