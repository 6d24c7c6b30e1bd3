// SPDX-License-Identifier: Apache-2.0
#pragma once

// Atomics. They are atomic between OS threads, too, since two launches may share a buffer. Each costs one unit of the
// thread's credit; at zero the thread yields. So the others progress while a thread spins on an atomic, or the launch
// ends as `timed out`.

#include "emulator/abi.h"
#include "emulator/builtins/keywords.h"

namespace tilewright::emulator {

inline void spend_credit() {
  if (--this_thread().credit == 0) runtime->yield();
}

template <int Bytes>
struct AtomicBits;
template <>
struct AtomicBits<2> {
  using type = unsigned short;
};
template <>
struct AtomicBits<4> {
  using type = unsigned;
};
template <>
struct AtomicBits<8> {
  using type = unsigned long long;
};

// Replaces *address by update(old) and returns old.
template <class T, class Update>
inline T atomic_update(T* address, Update update) {
  using Bits = typename AtomicBits<sizeof(T)>::type;
  auto* bits = reinterpret_cast<Bits*>(address);
  Bits seen = __atomic_load_n(bits, __ATOMIC_RELAXED);
  for (;;) {
    const T old = __builtin_bit_cast(T, seen);
    const Bits wanted = __builtin_bit_cast(Bits, static_cast<T>(update(old)));
    if (__atomic_compare_exchange_n(bits, &seen, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      spend_credit();
      return old;
    }
  }
}

}  // namespace tilewright::emulator

#define TILEWRIGHT_ATOMIC(name, type, expression)                                                \
  inline type name(type* address, type operand) {                                                \
    return ::tilewright::emulator::atomic_update(address, [&](type old) { return expression; }); \
  }
#define TILEWRIGHT_ATOMIC_INTEGERS(name, expression) \
  TILEWRIGHT_ATOMIC(name, int, expression)           \
  TILEWRIGHT_ATOMIC(name, unsigned, expression)      \
  TILEWRIGHT_ATOMIC(name, long long, expression)     \
  TILEWRIGHT_ATOMIC(name, unsigned long long, expression)

TILEWRIGHT_ATOMIC(atomicAdd, int, static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(operand)))
TILEWRIGHT_ATOMIC(atomicAdd, unsigned, old + operand)
TILEWRIGHT_ATOMIC(atomicAdd, unsigned long long, old + operand)
TILEWRIGHT_ATOMIC(atomicAdd, float, old + operand)
TILEWRIGHT_ATOMIC(atomicAdd, double, old + operand)
TILEWRIGHT_ATOMIC(atomicSub, int, static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(operand)))
TILEWRIGHT_ATOMIC(atomicSub, unsigned, old - operand)
TILEWRIGHT_ATOMIC_INTEGERS(atomicMin, old < operand ? old : operand)
TILEWRIGHT_ATOMIC_INTEGERS(atomicMax, old > operand ? old : operand)
TILEWRIGHT_ATOMIC_INTEGERS(atomicAnd, old& operand)
TILEWRIGHT_ATOMIC_INTEGERS(atomicOr, old | operand)
TILEWRIGHT_ATOMIC_INTEGERS(atomicXor, old ^ operand)
TILEWRIGHT_ATOMIC_INTEGERS(atomicExch, (static_cast<void>(old), operand))
TILEWRIGHT_ATOMIC(atomicExch, float, (static_cast<void>(old), operand))
TILEWRIGHT_ATOMIC(atomicInc, unsigned, old >= operand ? 0u : old + 1u)
TILEWRIGHT_ATOMIC(atomicDec, unsigned, old == 0u || old > operand ? operand : old - 1u)
#undef TILEWRIGHT_ATOMIC_INTEGERS
#undef TILEWRIGHT_ATOMIC

#define TILEWRIGHT_ATOMIC_CAS(type)                                                                                  \
  inline type atomicCAS(type* address, type expected, type wanted) {                                                 \
    return ::tilewright::emulator::atomic_update(address, [&](type old) { return old == expected ? wanted : old; }); \
  }
TILEWRIGHT_ATOMIC_CAS(int)
TILEWRIGHT_ATOMIC_CAS(unsigned)
TILEWRIGHT_ATOMIC_CAS(unsigned long long)
TILEWRIGHT_ATOMIC_CAS(unsigned short)
#undef TILEWRIGHT_ATOMIC_CAS
