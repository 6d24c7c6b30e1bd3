// SPDX-License-Identifier: Apache-2.0
#pragma once

// The functions that a warp's lanes call together. Each lane leaves a payload on its stack and waits; the last to
// arrive fills in all results. A read from an absent lane (exited, or not in the mask) returns poison: all bits set.

#include "emulator/abi.h"
#include "emulator/builtins/keywords.h"

namespace tilewright::emulator {

template <class T>
struct ShuffleLane {
  T value;
  T result;
  unsigned source;
  int width;
};

enum class Shuffle { kIndex, kUp, kDown, kXor };

// The lane that `lane` reads, by the PTX manual's definition of shfl.sync.
template <Shuffle Kind>
inline int shuffle_source(int lane, unsigned operand, int width) {
  const int last = width - 1;
  const int first_lane = lane & ~last;
  const int last_lane = first_lane + last;
  const int distance = static_cast<int>(operand & 31);
  int source;
  if constexpr (Kind == Shuffle::kIndex) {
    source = first_lane | (distance & last);
  } else if constexpr (Kind == Shuffle::kUp) {
    source = lane - distance;
    return source < first_lane ? lane : source;
  } else if constexpr (Kind == Shuffle::kDown) {
    source = lane + distance;
  } else {
    source = lane ^ distance;
  }
  return source > last_lane ? lane : source;
}

template <Shuffle Kind, class T>
void shuffle_combine(void* const* payloads, unsigned present) {
  for (unsigned left = present; left != 0; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    auto* mine = static_cast<ShuffleLane<T>*>(payloads[lane]);
    const auto* from =
        static_cast<const ShuffleLane<T>*>(payloads[shuffle_source<Kind>(lane, mine->source, mine->width)]);
    if (from != nullptr) {
      __builtin_memcpy(&mine->result, &from->value, sizeof(T));
    } else {
      __builtin_memset(&mine->result, 0xff, sizeof(T));
    }
  }
}

template <Shuffle Kind, class T>
inline T shuffle(unsigned mask, T value, unsigned source, int width, Site site) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  ShuffleLane<T> payload{value, value, source, width};
  runtime->collective(mask, &payload, &shuffle_combine<Kind, T>, site);
  return payload.result;
}

struct VoteLane {
  unsigned long long value;
  unsigned long long result;
  bool agreed;
};

inline VoteLane vote(unsigned mask, unsigned long long value, Combine combine, Site site) {
  VoteLane payload{value, 0, false};
  runtime->collective(mask, &payload, combine, site);
  return payload;
}

inline VoteLane& vote_lane(void* const* payloads, int lane) { return *static_cast<VoteLane*>(payloads[lane]); }

inline void give_all(void* const* payloads, unsigned present, unsigned long long result) {
  for (unsigned left = present; left != 0; left &= left - 1) vote_lane(payloads, __builtin_ctz(left)).result = result;
}

inline void ballot_combine(void* const* payloads, unsigned present) {
  unsigned result = 0;
  for (unsigned left = present; left != 0; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    if (vote_lane(payloads, lane).value != 0) result |= 1u << lane;
  }
  // `agreed`, for __all_sync: no present lane voted no.
  for (unsigned left = present; left != 0; left &= left - 1) {
    vote_lane(payloads, __builtin_ctz(left)).agreed = result == present;
  }
  give_all(payloads, present, result);
}

inline void match_combine(void* const* payloads, unsigned present) {
  for (unsigned left = present; left != 0; left &= left - 1) {
    VoteLane& mine = vote_lane(payloads, __builtin_ctz(left));
    unsigned same = 0;
    for (unsigned others = present; others != 0; others &= others - 1) {
      const int other = __builtin_ctz(others);
      if (vote_lane(payloads, other).value == mine.value) same |= 1u << other;
    }
    mine.result = same;
    mine.agreed = same == present;
  }
}

inline void meet_combine(void* const*, unsigned) {}

template <class Operator>
void reduce_combine(void* const* payloads, unsigned present) {
  unsigned result = static_cast<unsigned>(vote_lane(payloads, __builtin_ctz(present)).value);
  for (unsigned left = present & (present - 1); left != 0; left &= left - 1) {
    result = Operator::apply(result, static_cast<unsigned>(vote_lane(payloads, __builtin_ctz(left)).value));
  }
  give_all(payloads, present, result);
}

}  // namespace tilewright::emulator

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, TILEWRIGHT_SITE) {
  using namespace tilewright::emulator;
  return shuffle<Shuffle::kIndex>(mask, value, static_cast<unsigned>(source), width, site);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, TILEWRIGHT_SITE) {
  using namespace tilewright::emulator;
  return shuffle<Shuffle::kUp>(mask, value, delta, width, site);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, TILEWRIGHT_SITE) {
  using namespace tilewright::emulator;
  return shuffle<Shuffle::kDown>(mask, value, delta, width, site);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, TILEWRIGHT_SITE) {
  using namespace tilewright::emulator;
  return shuffle<Shuffle::kXor>(mask, value, static_cast<unsigned>(lane_mask), width, site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, TILEWRIGHT_SITE) {
  using namespace tilewright::emulator;
  return static_cast<unsigned>(vote(mask, predicate != 0, &ballot_combine, site).result);
}
inline int __any_sync(unsigned mask, int predicate, TILEWRIGHT_SITE) {
  return __ballot_sync(mask, predicate, site) != 0;
}
inline int __all_sync(unsigned mask, int predicate, TILEWRIGHT_SITE) {
  using namespace tilewright::emulator;
  return vote(mask, predicate != 0, &ballot_combine, site).agreed;
}
template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, TILEWRIGHT_SITE) {
  using namespace tilewright::emulator;
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return static_cast<unsigned>(vote(mask, bits, &match_combine, site).result);
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* predicate, TILEWRIGHT_SITE) {
  using namespace tilewright::emulator;
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  const VoteLane lane = vote(mask, bits, &match_combine, site);
  *predicate = lane.agreed;
  return lane.agreed ? static_cast<unsigned>(lane.result) : 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffu, TILEWRIGHT_SITE) {
  using namespace tilewright::emulator;
  vote(mask, 0, &meet_combine, site);
}

// CUDA guarantees nothing about the lanes that run together: the strictest answer is the lane alone.
inline unsigned __activemask() { return 1u << ::tilewright::emulator::this_thread().lane; }

#define TILEWRIGHT_REDUCE(name, type, expression)                                                        \
  namespace tilewright::emulator {                                                                       \
  struct Reduce_##name##_##type {                                                                        \
    static unsigned apply(unsigned left, unsigned right) {                                               \
      const auto a = static_cast<type##_t>(left);                                                        \
      const auto b = static_cast<type##_t>(right);                                                       \
      return static_cast<unsigned>(expression);                                                          \
    }                                                                                                    \
  };                                                                                                     \
  }                                                                                                      \
  inline ::tilewright::emulator::type##_t __reduce_##name##_sync(                                        \
      unsigned mask, ::tilewright::emulator::type##_t value, TILEWRIGHT_SITE) {                          \
    using namespace tilewright::emulator;                                                                \
    return static_cast<type##_t>(                                                                        \
        vote(mask, static_cast<unsigned>(value), &reduce_combine<Reduce_##name##_##type>, site).result); \
  }
namespace tilewright::emulator {
using signed32_t = int;
using unsigned32_t = unsigned;
}  // namespace tilewright::emulator
TILEWRIGHT_REDUCE(add, unsigned32, a + b)
TILEWRIGHT_REDUCE(min, unsigned32, a < b ? a : b)
TILEWRIGHT_REDUCE(max, unsigned32, a > b ? a : b)
TILEWRIGHT_REDUCE(and, unsigned32, a& b)
TILEWRIGHT_REDUCE(or, unsigned32, a | b)
TILEWRIGHT_REDUCE(xor, unsigned32, a ^ b)
TILEWRIGHT_REDUCE(min, signed32, a < b ? a : b)
TILEWRIGHT_REDUCE(max, signed32, a > b ? a : b)
#undef TILEWRIGHT_REDUCE
inline int __reduce_add_sync(unsigned mask, int value, TILEWRIGHT_SITE) {
  return static_cast<int>(__reduce_add_sync(mask, static_cast<unsigned>(value), site));
}
