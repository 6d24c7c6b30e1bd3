// SPDX-License-Identifier: Apache-2.0
#pragma once

// The running thread's indices, and its block's barriers.

#include "emulator/abi.h"
#include "emulator/builtins/keywords.h"

#define threadIdx (::tilewright::emulator::this_thread().index)
#define blockIdx (::tilewright::emulator::this_thread().block->index)
#define blockDim (::tilewright::emulator::this_thread().launch->block)
#define gridDim (::tilewright::emulator::this_thread().launch->grid)
inline constexpr int warpSize = 32;

inline void __syncthreads(tilewright::emulator::Site site = tilewright::emulator::Site::here()) {
  tilewright::emulator::runtime->barrier(tilewright::emulator::BarrierOp::kSync, 0, 0, 0, site);
}

inline int __syncthreads_count(int predicate, tilewright::emulator::Site site = tilewright::emulator::Site::here()) {
  return static_cast<int>(
      tilewright::emulator::runtime->barrier(tilewright::emulator::BarrierOp::kCount, 0, 0, predicate, site));
}

inline int __syncthreads_and(int predicate, tilewright::emulator::Site site = tilewright::emulator::Site::here()) {
  return static_cast<int>(
      tilewright::emulator::runtime->barrier(tilewright::emulator::BarrierOp::kAnd, 0, 0, predicate, site));
}

inline int __syncthreads_or(int predicate, tilewright::emulator::Site site = tilewright::emulator::Site::here()) {
  return static_cast<int>(
      tilewright::emulator::runtime->barrier(tilewright::emulator::BarrierOp::kOr, 0, 0, predicate, site));
}

// Fences order memory between processors. Here one fiber runs at a time, so a compiler barrier suffices.
inline void __threadfence_block() { asm volatile("" ::: "memory"); }
inline void __threadfence() { asm volatile("" ::: "memory"); }
inline void __threadfence_system() { asm volatile("" ::: "memory"); }
inline void __nanosleep(unsigned) { tilewright::emulator::runtime->yield(); }

inline long long clock64() { return static_cast<long long>(__builtin_ia32_rdtsc()); }
