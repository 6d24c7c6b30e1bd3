// SPDX-License-Identifier: Apache-2.0
#pragma once

// The functions that have the same name in cuda_fp16.h and cuda_bf16.h.

#include "emulator/builtins/atomic.h"
#include "emulator/builtins/math.h"
#include "emulator/builtins/small_float.h"
#include "emulator/builtins/vector_types.h"

#define TILEWRIGHT_SMALL  \
  template <class Format> \
  inline
#define TILEWRIGHT_ONE ::tilewright::emulator::SmallFloat<Format>
#define TILEWRIGHT_TWO ::tilewright::emulator::SmallFloat2<Format>

#define TILEWRIGHT_BINARY(name, expression)                                                            \
  TILEWRIGHT_SMALL TILEWRIGHT_ONE __h##name(TILEWRIGHT_ONE a, TILEWRIGHT_ONE b) { return expression; } \
  TILEWRIGHT_SMALL TILEWRIGHT_TWO __h##name##2(TILEWRIGHT_TWO a, TILEWRIGHT_TWO b) {                   \
    return {__h##name(a.x, b.x), __h##name(a.y, b.y)};                                                 \
  }
TILEWRIGHT_BINARY(add, a + b)
TILEWRIGHT_BINARY(sub, a - b)
TILEWRIGHT_BINARY(mul, a* b)
TILEWRIGHT_BINARY(max, b.is_nan() || a > b ? a : b)
TILEWRIGHT_BINARY(min, b.is_nan() || a < b ? a : b)
TILEWRIGHT_BINARY(max_nan, a.is_nan() || a > b ? a : b)
TILEWRIGHT_BINARY(min_nan, a.is_nan() || a < b ? a : b)
#undef TILEWRIGHT_BINARY
TILEWRIGHT_SMALL TILEWRIGHT_ONE __hdiv(TILEWRIGHT_ONE a, TILEWRIGHT_ONE b) { return a / b; }
TILEWRIGHT_SMALL TILEWRIGHT_TWO __h2div(TILEWRIGHT_TWO a, TILEWRIGHT_TWO b) { return a / b; }

TILEWRIGHT_SMALL TILEWRIGHT_ONE __hfma(TILEWRIGHT_ONE a, TILEWRIGHT_ONE b, TILEWRIGHT_ONE c) {
  return {::tilewright::emulator::fma_to_odd(a, b, c)};
}
TILEWRIGHT_SMALL TILEWRIGHT_TWO __hfma2(TILEWRIGHT_TWO a, TILEWRIGHT_TWO b, TILEWRIGHT_TWO c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
TILEWRIGHT_SMALL TILEWRIGHT_ONE __hneg(TILEWRIGHT_ONE a) { return -a; }
TILEWRIGHT_SMALL TILEWRIGHT_TWO __hneg2(TILEWRIGHT_TWO a) { return -a; }
TILEWRIGHT_SMALL TILEWRIGHT_ONE __habs(TILEWRIGHT_ONE a) {
  return TILEWRIGHT_ONE::from_bits(static_cast<unsigned short>(a.bits & 0x7fffu));
}
TILEWRIGHT_SMALL TILEWRIGHT_TWO __habs2(TILEWRIGHT_TWO a) { return {__habs(a.x), __habs(a.y)}; }

TILEWRIGHT_SMALL bool __heq(TILEWRIGHT_ONE a, TILEWRIGHT_ONE b) { return a == b; }
TILEWRIGHT_SMALL bool __hne(TILEWRIGHT_ONE a, TILEWRIGHT_ONE b) { return a < b || a > b; }
TILEWRIGHT_SMALL bool __hlt(TILEWRIGHT_ONE a, TILEWRIGHT_ONE b) { return a < b; }
TILEWRIGHT_SMALL bool __hle(TILEWRIGHT_ONE a, TILEWRIGHT_ONE b) { return a <= b; }
TILEWRIGHT_SMALL bool __hgt(TILEWRIGHT_ONE a, TILEWRIGHT_ONE b) { return a > b; }
TILEWRIGHT_SMALL bool __hge(TILEWRIGHT_ONE a, TILEWRIGHT_ONE b) { return a >= b; }
TILEWRIGHT_SMALL bool __hisnan(TILEWRIGHT_ONE a) { return a.is_nan(); }
TILEWRIGHT_SMALL int __hisinf(TILEWRIGHT_ONE a) {
  return (a.bits & 0x7fffu) != Format::kInfinity ? 0 : a.bits & 0x8000u ? -1 : 1;
}

#define TILEWRIGHT_UNARY(name, function)                           \
  TILEWRIGHT_SMALL TILEWRIGHT_ONE h##name(TILEWRIGHT_ONE a) {      \
    return {function(static_cast<double>(static_cast<float>(a)))}; \
  }                                                                \
  TILEWRIGHT_SMALL TILEWRIGHT_TWO h2##name(TILEWRIGHT_TWO a) { return {h##name(a.x), h##name(a.y)}; }
TILEWRIGHT_UNARY(exp, exp)
TILEWRIGHT_UNARY(exp2, exp2)
TILEWRIGHT_UNARY(log, log)
TILEWRIGHT_UNARY(log2, log2)
TILEWRIGHT_UNARY(sqrt, sqrt)
TILEWRIGHT_UNARY(rsqrt, 1.0 / sqrt)
TILEWRIGHT_UNARY(rcp, 1.0 /)
TILEWRIGHT_UNARY(tanh, tanh)
#undef TILEWRIGHT_UNARY

TILEWRIGHT_SMALL float __low2float(TILEWRIGHT_TWO pair) { return pair.x; }
TILEWRIGHT_SMALL float __high2float(TILEWRIGHT_TWO pair) { return pair.y; }
TILEWRIGHT_SMALL TILEWRIGHT_TWO __lowhigh2highlow(TILEWRIGHT_TWO pair) { return {pair.y, pair.x}; }

TILEWRIGHT_SMALL TILEWRIGHT_ONE atomicAdd(TILEWRIGHT_ONE* address, TILEWRIGHT_ONE operand) {
  return ::tilewright::emulator::atomic_update(address, [=](TILEWRIGHT_ONE old) { return old + operand; });
}
TILEWRIGHT_SMALL TILEWRIGHT_TWO atomicAdd(TILEWRIGHT_TWO* address, TILEWRIGHT_TWO operand) {
  return ::tilewright::emulator::atomic_update(address, [=](TILEWRIGHT_TWO old) { return old + operand; });
}

#undef TILEWRIGHT_SMALL
#undef TILEWRIGHT_ONE
#undef TILEWRIGHT_TWO
