// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/wgmma_fresh.cuh, which is not modelled.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "device/config.cuh"
#include "emulator/device/ptx/unmodelled.h"

namespace tilewright::ptx {

template <class T, int N, bool kTransposed>
inline void wgmma_fresh(float (&)[N / 2], u64, u64) {
  static_assert(emulator::kIsModelled<T>, "the emulator does not model wgmma: this kernel needs a GPU");
}
template <class T, int N>
inline void wgmma_transposed(float (&)[N / 2], u64, u64) {
  static_assert(emulator::kIsModelled<T>, "the emulator does not model wgmma: this kernel needs a GPU");
}

}  // namespace tilewright::ptx
