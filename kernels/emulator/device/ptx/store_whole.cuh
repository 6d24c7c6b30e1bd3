// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/store_whole.cuh.

#include "emulator/device/ptx/access.h"

namespace tilewright::ptx {

template <class Word>
inline void store_whole(Word* address, Word value, TILEWRIGHT_SITE) {
  emulator::store_word(address, value, site);
}

}  // namespace tilewright::ptx
