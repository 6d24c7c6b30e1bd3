// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/ldmatrix.cuh: the last lane to arrive fills in all lanes' registers.

#include "emulator/builtins/warp.h"
#include "emulator/device/ptx/access.h"

namespace tilewright::ptx {

namespace detail {

struct LdmatrixLane {
  const void* row;
  u32* to;
};

template <int kMatrices, bool kTranspose>
void ldmatrix_combine(void* const* payloads, unsigned) {
  for (int lane = 0; lane < 32; ++lane) {
    auto* mine = static_cast<LdmatrixLane*>(payloads[lane]);
    if (mine == nullptr) continue;
    for (int matrix = 0; matrix < kMatrices; ++matrix) {
      u32 packed = 0;
      for (int half = 0; half < 2; ++half) {
        const int across = lane % 4 * 2 + half;
        const int row = kTranspose ? across : lane / 4;
        const int column = kTranspose ? lane / 4 : across;
        const auto* source = static_cast<const LdmatrixLane*>(payloads[matrix * 8 + row]);
        // An absent lane gave no address.
        u16 element = 0xffff;
        if (source != nullptr) element = static_cast<const u16*>(source->row)[column];
        packed |= static_cast<u32>(element) << (16 * half);
      }
      mine->to[matrix] = packed;
    }
  }
}

template <int kMatrices, bool kTranspose>
inline void ldmatrix(u32 (&to)[kMatrices], const void* row, emulator::Site site) {
  if (static_cast<int>(emulator::this_thread().lane) < 8 * kMatrices) {
    emulator::check_alignment(row, 16, "ldmatrix of a row that is not aligned to 16", site);
  }
  LdmatrixLane lane{row, to};
  emulator::runtime->collective(0xffffffffu, &lane, &ldmatrix_combine<kMatrices, kTranspose>, site);
}

}  // namespace detail

inline void ldmatrix_x1(u32 (&to)[1], const void* row, TILEWRIGHT_SITE) { detail::ldmatrix<1, false>(to, row, site); }
inline void ldmatrix_x2(u32 (&to)[2], const void* row, TILEWRIGHT_SITE) { detail::ldmatrix<2, false>(to, row, site); }
inline void ldmatrix_x4(u32 (&to)[4], const void* row, TILEWRIGHT_SITE) { detail::ldmatrix<4, false>(to, row, site); }
inline void ldmatrix_x1_trans(u32 (&to)[1], const void* row, TILEWRIGHT_SITE) {
  detail::ldmatrix<1, true>(to, row, site);
}
inline void ldmatrix_x2_trans(u32 (&to)[2], const void* row, TILEWRIGHT_SITE) {
  detail::ldmatrix<2, true>(to, row, site);
}
inline void ldmatrix_x4_trans(u32 (&to)[4], const void* row, TILEWRIGHT_SITE) {
  detail::ldmatrix<4, true>(to, row, site);
}

}  // namespace tilewright::ptx
