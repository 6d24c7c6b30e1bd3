// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/register_count.cuh: does nothing but check that the GPU accepts the count.

namespace tilewright::ptx {

template <int kRegisters>
inline void release_registers() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0, "a count that setmaxnreg takes");
}

template <int kRegisters>
inline void acquire_registers() {
  release_registers<kRegisters>();
}

}  // namespace tilewright::ptx
