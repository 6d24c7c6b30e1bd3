// SPDX-License-Identifier: Apache-2.0
#pragma once

// A small stack machine for formulas of element indices: one source computes a tensor's elements on a GPU, on the
// emulator and on the host (tuner/verify/program.hpp compiles formulas). Plain functions without qualifiers, as in
// elements.cuh.
//
// A program is a count of instructions, then two words each: the instruction and its operand. Operands of functions lie
// on the stack in their order. A value may be none, as in `1 / 0` or beyond 64 bits: a result computed from none is
// none, but `select`, `and` and `or` ignore an operand that does not decide.

#include "elements.cuh"

namespace tilewright::utility {

enum Instruction : i64 {
  kPushNumber,  // the operand
  kPushIndex,   // the index of dimension `operand`, 0 the slowest
  kPushNone,
  kNegate,
  kNot,
  kOr,
  kAnd,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kRemainder,
  kCeilDiv,
  kRoundUp,
  kMin,
  kMax,
  kSelect,
  kPow2Ceil,
  kLog2,
};

// The most values on the stack.
inline constexpr int kMostDepth = 32;
// The most dimensions of a tensor.
inline constexpr int kMostRank = 8;

struct MaybeNumber {
  i64 number;
  bool exists;
};

inline constexpr i64 kLeastNumber = -0x7fffffffffffffffll - 1;

constexpr MaybeNumber sum_of(i64 a, i64 b) {
  const i64 result = static_cast<i64>(static_cast<u64>(a) + static_cast<u64>(b));
  return {result, ((a ^ result) & (b ^ result)) >= 0};
}

constexpr MaybeNumber difference_of(i64 a, i64 b) {
  const i64 result = static_cast<i64>(static_cast<u64>(a) - static_cast<u64>(b));
  return {result, ((a ^ b) & (a ^ result)) >= 0};
}

constexpr MaybeNumber product_of(i64 a, i64 b) {
  const i64 result = static_cast<i64>(static_cast<u64>(a) * static_cast<u64>(b));
  if (a == 0) return {0, true};
  if (a == -1) return {result, b != kLeastNumber};
  return {result, result / a == b};
}

// The least whole number that is at least a / b, for b > 0.
constexpr i64 ceiling_of(i64 a, i64 b) { return a / b + (a % b > 0 ? 1 : 0); }

constexpr MaybeNumber quotient_of(Instruction instruction, i64 a, i64 b) {
  if (instruction == kDivide) return b == -1 ? difference_of(0, a) : MaybeNumber{b == 0 ? 0 : a / b, b != 0};
  if (instruction == kRemainder) return {b == 0 || b == -1 ? 0 : a % b, b != 0};
  if (b <= 0) return {0, false};
  return instruction == kCeilDiv ? MaybeNumber{ceiling_of(a, b), true} : product_of(ceiling_of(a, b), b);
}

constexpr MaybeNumber of_one(Instruction instruction, i64 a) {
  if (instruction == kNegate) return difference_of(0, a);
  if (instruction == kNot) return {a == 0 ? 1 : 0, true};
  if (instruction == kLog2) {
    i64 exponent = 0;
    for (i64 rest = a; rest > 1; rest /= 2) ++exponent;
    return {exponent, a >= 1};
  }
  constexpr i64 kMost = i64{1} << 62;
  i64 power = 1;
  while (power < a && power < kMost) power *= 2;
  return {power, a <= kMost};
}

constexpr MaybeNumber of_two(Instruction instruction, i64 a, i64 b) {
  switch (instruction) {
    case kEqual:
      return {a == b ? 1 : 0, true};
    case kNotEqual:
      return {a != b ? 1 : 0, true};
    case kLess:
      return {a < b ? 1 : 0, true};
    case kLessEqual:
      return {a <= b ? 1 : 0, true};
    case kGreater:
      return {a > b ? 1 : 0, true};
    case kGreaterEqual:
      return {a >= b ? 1 : 0, true};
    case kAdd:
      return sum_of(a, b);
    case kSubtract:
      return difference_of(a, b);
    case kMultiply:
      return product_of(a, b);
    case kMin:
      return {a < b ? a : b, true};
    case kMax:
      return {a > b ? a : b, true};
    default:
      return quotient_of(instruction, a, b);
  }
}

// `and` and `or`: the right side counts only if the left one does not decide.
constexpr MaybeNumber logic_of(Instruction instruction, MaybeNumber a, MaybeNumber b) {
  const bool decides = (a.number != 0) == (instruction == kOr);
  if (!a.exists || decides) return {a.number != 0 ? 1 : 0, a.exists};
  return {b.number != 0 ? 1 : 0, b.exists};
}

constexpr MaybeNumber run_program(const i64* program, const i64* indices) {
  MaybeNumber stack[kMostDepth] = {};
  int depth = 0;
  for (i64 step = 0; step < program[0]; ++step) {
    const Instruction instruction = static_cast<Instruction>(program[1 + 2 * step]);
    const i64 operand = program[2 + 2 * step];
    if (instruction <= kPushNone) {
      stack[depth++] = {instruction == kPushIndex ? indices[operand] : operand, instruction != kPushNone};
    } else if (instruction == kNegate || instruction == kNot || instruction == kPow2Ceil || instruction == kLog2) {
      MaybeNumber& a = stack[depth - 1];
      if (a.exists) a = of_one(instruction, a.number);
    } else if (instruction == kSelect) {
      depth -= 2;
      MaybeNumber& condition = stack[depth - 1];
      if (condition.exists) condition = stack[condition.number != 0 ? depth : depth + 1];
    } else {
      MaybeNumber& a = stack[depth - 2];
      const MaybeNumber b = stack[--depth];
      if (instruction == kAnd || instruction == kOr) {
        a = logic_of(instruction, a, b);
      } else {
        a = a.exists && b.exists ? of_two(instruction, a.number, b.number) : MaybeNumber{0, false};
      }
    }
  }
  return stack[0];
}

// Writes an integer as an element; the type must hold it.
inline void write_whole(void* tensor, Type type, i64 index, i64 value) {
  switch (type) {
    case kI32:
    case kU32:
      static_cast<u32*>(tensor)[index] = static_cast<u32>(value);
      return;
    case kI64:
    case kU64:
      static_cast<i64*>(tensor)[index] = value;
      return;
    case kU8:
      static_cast<u8*>(tensor)[index] = static_cast<u8>(value);
      return;
    case kF64:
      static_cast<double*>(tensor)[index] = static_cast<double>(value);
      return;
    default:
      write_element(tensor, type, index, static_cast<float>(value));
  }
}

constexpr bool is_whole(Type type) { return type >= kI32; }

// Whether a type's range of integers has `value`.
constexpr bool holds(Type type, i64 value) {
  switch (type) {
    case kI32:
      return value >= -0x80000000ll && value <= 0x7fffffffll;
    case kU32:
      return value >= 0 && value <= 0xffffffffll;
    case kU64:
      return value >= 0;
    case kU8:
      return value >= 0 && value <= 0xff;
    default:
      return true;
  }
}

// Fills element `element`, in row-major order, of a tensor with `scale` times a program's value if another program, the
// condition, is true. `words` holds the rank, the extents, the strides in elements, the offset of the value's program,
// then the condition's program and the value's. False, and unwritten, if either is none or the value does not fit.
inline bool fill_element(void* tensor, Type type, const i64* words, i64 element, double scale) {
  const i64 rank = words[0];
  const i64* const extents = words + 1;
  const i64* const strides = extents + rank;
  i64 indices[kMostRank] = {};
  i64 offset = 0;
  for (i64 i = rank; i-- > 0;) {
    indices[i] = element % extents[i];
    element /= extents[i];
    offset += indices[i] * strides[i];
  }
  const MaybeNumber condition = run_program(strides + rank + 1, indices);
  if (!condition.exists) return false;
  if (condition.number == 0) return true;
  const MaybeNumber value = run_program(words + strides[rank], indices);
  if (!value.exists || !holds(type, value.number)) return false;
  if (is_whole(type)) {
    write_whole(tensor, type, offset, value.number);
  } else if (type == kF64) {
    static_cast<double*>(tensor)[offset] = static_cast<double>(value.number) * scale;
  } else {
    write_element(tensor, type, offset, static_cast<float>(static_cast<double>(value.number) * scale));
  }
  return true;
}

// Rounds element `element`, in row-major order, of a tensor of doubles to another tensor of the same extents. `words`
// holds the rank, the extents, the strides of the doubles, then the other's strides.
inline void round_element(void* to, Type type, const double* from, const i64* words, i64 element) {
  const i64 rank = words[0];
  const i64* const extents = words + 1;
  i64 source = 0, destination = 0;
  for (i64 i = rank; i-- > 0;) {
    const i64 index = element % extents[i];
    element /= extents[i];
    source += index * extents[rank + i];
    destination += index * extents[2 * rank + i];
  }
  if (type == kF64) {
    static_cast<double*>(to)[destination] = from[source];
  } else {
    write_element(to, type, destination, static_cast<float>(from[source]));
  }
}

// The lowest index of an element without a value; kPoison without one.
struct FirstWithout {
  u64 index;
};

constexpr void merge(FirstWithout& into, const FirstWithout& other) {
  if (other.index < into.index) into.index = other.index;
}

}  // namespace tilewright::utility
