// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/global_store.cuh: ignores hints, checks alignment.

#include "emulator/device/ptx/access.h"

namespace tilewright::ptx {

template <class Word>
inline void store_streaming(Word* address, Word value, TILEWRIGHT_SITE) {
  emulator::store_word(address, value, site);
}
template <class Word>
inline void store_with_policy(Word* address, Word value, u64, TILEWRIGHT_SITE) {
  emulator::store_word(address, value, site);
}
template <class Word>
inline void store(Word* address, Word value, TILEWRIGHT_SITE) {
  emulator::store_word(address, value, site);
}

}  // namespace tilewright::ptx
