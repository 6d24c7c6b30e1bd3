// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/stmatrix_transposed.cuh: the last lane to arrive stores all lanes' registers.

#include "emulator/builtins/warp.h"
#include "emulator/device/ptx/access.h"

namespace tilewright::ptx {

namespace detail {

struct TransposedStmatrixLane {
  void* row;
  const u32* from;
};

inline void stmatrix_transposed_combine(void* const* payloads, unsigned) {
  for (int address = 0; address < 32; ++address) {
    const auto* target = static_cast<const TransposedStmatrixLane*>(payloads[address]);
    if (target == nullptr) continue;
    const int row = address % 8;
    for (int column = 0; column < 8; ++column) {
      const auto* source = static_cast<const TransposedStmatrixLane*>(payloads[column * 4 + row / 2]);
      // An absent lane gave no elements.
      u16 element = 0xffff;
      if (source != nullptr) element = static_cast<u16>(source->from[address / 8] >> (row % 2 * 16));
      static_cast<u16*>(target->row)[column] = element;
    }
  }
}

}  // namespace detail

inline void stmatrix_x4_transposed(void* row, const u32 (&from)[4], TILEWRIGHT_SITE) {
  emulator::check_alignment(row, 16, "stmatrix to a row that is not aligned to 16", site);
  detail::TransposedStmatrixLane lane{row, from};
  emulator::runtime->collective(0xffffffffu, &lane, &detail::stmatrix_transposed_combine, site);
}

}  // namespace tilewright::ptx
