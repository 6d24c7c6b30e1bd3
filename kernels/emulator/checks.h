// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels are compiled with -fsanitize=alignment,bounds. These handlers replace the sanitizer's run-time library: a
// misaligned access, or an index beyond an array of known size, ends the launch and reports the source line. A GPU
// would trap at the former and read a neighbour at the latter.

#include "emulator/abi.h"
#include "emulator/builtins/keywords.h"

namespace tilewright::emulator {

// The used part of what the compiler passes.
struct CheckedPlace {
  const char* file;
  unsigned line;
  unsigned column;
};
struct CheckedAccess {
  CheckedPlace place;
  const void* type;
  unsigned char log2_alignment;
  unsigned char kind;
};

}  // namespace tilewright::emulator

extern "C" inline __attribute__((used)) void __ubsan_handle_type_mismatch_v1(
    tilewright::emulator::CheckedAccess* access, unsigned long address) {
  using namespace tilewright::emulator;
  constexpr const char* kWhat[] = {"access",
                                   "access that needs a multiple of 2",
                                   "access that needs a multiple of 4",
                                   "access that needs a multiple of 8",
                                   "access that needs a multiple of 16",
                                   "access that needs a multiple of 32 or more"};
  runtime->fault(Fault::kMisaligned, reinterpret_cast<const void*>(address),
                 kWhat[access->log2_alignment < 5 ? access->log2_alignment : 5],
                 Site{access->place.file, access->place.line});
}

extern "C" inline __attribute__((used)) void __ubsan_handle_out_of_bounds(tilewright::emulator::CheckedPlace* place,
                                                                          unsigned long index) {
  using namespace tilewright::emulator;
  runtime->fault(Fault::kOutOfRange, reinterpret_cast<const void*>(index), "index beyond the end of an array",
                 Site{place->file, place->line});
}
