// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/global_load.cuh: ignores hints, checks alignment.

#include "emulator/device/ptx/access.h"

namespace tilewright::ptx {

template <class Word>
inline Word load_read_only(const Word* address, TILEWRIGHT_SITE) {
  return emulator::load_word(address, site);
}
template <class Word>
inline Word load_constant(const Word* address, TILEWRIGHT_SITE) {
  return emulator::load_word(address, site);
}
template <class Word>
inline Word load_streaming(const Word* address, TILEWRIGHT_SITE) {
  return emulator::load_word(address, site);
}
template <class Word>
inline Word load_with_policy(const Word* address, u64, TILEWRIGHT_SITE) {
  return emulator::load_word(address, site);
}
template <class Word>
inline Word load(const Word* address, TILEWRIGHT_SITE) {
  return emulator::load_word(address, site);
}

}  // namespace tilewright::ptx
