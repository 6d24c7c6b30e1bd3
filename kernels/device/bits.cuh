// SPDX-License-Identifier: Apache-2.0
#pragma once

// Untyped words: one for each size that one instruction moves, 1 to 16 bytes.

#include "device/config.cuh"

namespace tilewright {

struct alignas(8) Bits64 {
  u32 x, y;
};
struct alignas(16) Bits128 {
  u32 x, y, z, w;
};

namespace detail {
template <int Bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using type = u8;
};
template <>
struct WordOf<2> {
  using type = u16;
};
template <>
struct WordOf<4> {
  using type = u32;
};
template <>
struct WordOf<8> {
  using type = Bits64;
};
template <>
struct WordOf<16> {
  using type = Bits128;
};
}  // namespace detail

// The word of `Bytes` bytes: u8, u16, u32, Bits64 or Bits128.
template <int Bytes>
using Word = typename detail::WordOf<Bytes>::type;

}  // namespace tilewright
