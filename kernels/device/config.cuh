// SPDX-License-Identifier: Apache-2.0
#pragma once

// The base of all generated configs and kernels: names that compare at compile time, integer types and constants.
// Includes no standard header: NVRTC has none.

namespace tilewright {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;
static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8, "integer types have their usual widths");

inline constexpr int kWarpSize = 32;
inline constexpr u32 kFullMask = 0xffffffffu;
inline constexpr float kInfinity = __builtin_bit_cast(float, 0x7f800000u);

// The value of an attribute, as in `if constexpr (Config::act == "gelu")`: at most 63 characters.
class Name {
 public:
  template <int Size>
  __device__ constexpr Name(const char (&text)[Size]) : text_{}, length_(Size - 1) {
    static_assert(Size <= kCapacity, "a name has at most 63 characters");
    for (int i = 0; i < Size - 1; ++i) text_[i] = text[i];
  }

  __device__ constexpr int length() const { return length_; }

  __device__ friend constexpr bool operator==(const Name& a, const Name& b) {
    if (a.length_ != b.length_) return false;
    for (int i = 0; i < a.length_; ++i) {
      if (a.text_[i] != b.text_[i]) return false;
    }
    return true;
  }

 private:
  enum : int { kCapacity = 64 };
  char text_[kCapacity];
  int length_;
};

// Integer division rounded up, and rounding up to a multiple. Both arguments are positive.
template <class Integer>
__device__ constexpr Integer ceil_div(Integer value, Integer divisor) {
  return (value + divisor - 1) / divisor;
}

template <class Integer>
__device__ constexpr Integer round_up(Integer value, Integer multiple) {
  return ceil_div(value, multiple) * multiple;
}

template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;

}  // namespace tilewright
