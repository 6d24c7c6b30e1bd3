// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes the place of device/ptx/register_count.cuh: there are always enough, but a count must be one that the GPU
// takes.

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
