// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loads and stores of whole words. As on the GPU, addresses must be aligned to the size; otherwise the launch ends with
// a report of the address and the place.

#include "device/bits.cuh"
#include "emulator/abi.h"
#include "emulator/builtins/keywords.h"

namespace tilewright::emulator {

inline void check_alignment(const volatile void* address, unsigned long long bytes, const char* what, Site site) {
  if ((reinterpret_cast<unsigned long long>(address) & (bytes - 1)) != 0) {
    runtime->fault(Fault::kMisaligned, address, what, site);
  }
}

template <class Word>
inline Word load_word(const Word* address, Site site) {
  constexpr const char* kWhat = sizeof(Word) == 16  ? "16-byte load"
                                : sizeof(Word) == 8 ? "8-byte load"
                                : sizeof(Word) == 4 ? "4-byte load"
                                                    : "2-byte load";
  check_alignment(address, sizeof(Word), kWhat, site);
  Word value;
  __builtin_memcpy(&value, address, sizeof(Word));
  return value;
}

template <class Word>
inline void store_word(Word* address, const Word& value, Site site) {
  constexpr const char* kWhat = sizeof(Word) == 16  ? "16-byte store"
                                : sizeof(Word) == 8 ? "8-byte store"
                                : sizeof(Word) == 4 ? "4-byte store"
                                                    : "2-byte store";
  check_alignment(address, sizeof(Word), kWhat, site);
  __builtin_memcpy(address, &value, sizeof(Word));
}

}  // namespace tilewright::emulator
