// SPDX-License-Identifier: Apache-2.0
#pragma once

// CUDA's loads and stores with a cache hint, and __isShared. Hints do not change values, so all are plain accesses.

#include "emulator/abi.h"
#include "emulator/builtins/keywords.h"

#define TILEWRIGHT_LOAD(name)       \
  template <class T>                \
  inline T name(const T* address) { \
    return *address;                \
  }
TILEWRIGHT_LOAD(__ldg)
TILEWRIGHT_LOAD(__ldcg)
TILEWRIGHT_LOAD(__ldca)
TILEWRIGHT_LOAD(__ldcs)
TILEWRIGHT_LOAD(__ldlu)
TILEWRIGHT_LOAD(__ldcv)
#undef TILEWRIGHT_LOAD

#define TILEWRIGHT_STORE(name)            \
  template <class T>                      \
  inline void name(T* address, T value) { \
    *address = value;                     \
  }
TILEWRIGHT_STORE(__stwb)
TILEWRIGHT_STORE(__stcg)
TILEWRIGHT_STORE(__stcs)
TILEWRIGHT_STORE(__stwt)
#undef TILEWRIGHT_STORE

// True for dynamic shared memory, which the ptx/ functions expect; false for static __shared__ variables.
inline bool __isShared(const void* address) {
  const auto& block = *tilewright::emulator::this_thread().block;
  const auto* byte = static_cast<const unsigned char*>(address);
  return byte >= block.shared && byte < block.shared + block.shared_bytes;
}
