// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/barrier.cuh.

#include "device/config.cuh"
#include "emulator/builtins/keywords.h"

namespace tilewright::ptx {

inline void barrier_sync(u32 id, u32 threads, TILEWRIGHT_SITE) {
  emulator::runtime->barrier(emulator::BarrierOp::kSync, id, threads, 0, site);
}

inline void barrier_arrive(u32 id, u32 threads, TILEWRIGHT_SITE) {
  emulator::runtime->barrier(emulator::BarrierOp::kArrive, id, threads, 0, site);
}

}  // namespace tilewright::ptx
