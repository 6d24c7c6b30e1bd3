// SPDX-License-Identifier: Apache-2.0
#pragma once

// CUDA's declaration keywords. A `__shared__` variable becomes thread-local, so that launches on two OS threads do not
// share it. The runtime poisons the module's thread-local block at each block's start and exchanges it between the
// blocks of a cluster.

#include "emulator/abi.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __shared__ thread_local
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) alignas(bytes)
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)

namespace tilewright::emulator {

static const Runtime* runtime;  // set when the module is loaded

}  // namespace tilewright::emulator

// The last parameter of functions that appear in reports: the place of the call.
#define TILEWRIGHT_SITE ::tilewright::emulator::Site site = ::tilewright::emulator::Site::here()

extern "C" int printf(const char* format, ...);
extern "C" void* memcpy(void* to, const void* from, unsigned long bytes) noexcept(true);
extern "C" void* memset(void* to, int value, unsigned long bytes) noexcept(true);

inline void __trap() {
  tilewright::emulator::runtime->fault(tilewright::emulator::Fault::kTrap, nullptr, "__trap()",
                                       tilewright::emulator::Site{nullptr, 0});
}

#define assert(condition)                                                                          \
  ((condition) ? static_cast<void>(0)                                                              \
               : tilewright::emulator::runtime->fault(tilewright::emulator::Fault::kTrap, nullptr, \
                                                      "assert(" #condition ")", tilewright::emulator::Site::here()))
