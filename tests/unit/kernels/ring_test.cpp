// SPDX-License-Identifier: Apache-2.0
// kernels/device/ring.cuh.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test::ring_test {
namespace {

constexpr std::size_t kFewest = 2;
constexpr std::size_t kMost = 8;
constexpr std::size_t kTurns = 50;

TEST(Ring, gives_stage_and_parity_of_every_turn_in_single_steps_and_in_leaps) {
  // Writes one word a turn, and another word if leaps and single steps differ.
  const EmulatedKernel kernel(R"cu(
#include "device/ring.cuh"
template <int kStages> __device__ void walk(u32*& out, u32 turns) {
  Ring<kStages> ring;
  for (u32 turn = 0; turn < turns; ++turn, ring.advance()) {
    *out++ = ring.stage << 1 | ring.parity;
    // To the same turn in two leaps.
    for (u32 first = 0; first <= turn; ++first) {
      Ring<kStages> leaping;
      leaping.advance(first);
      leaping.advance(turn - first);
      if (leaping.stage != ring.stage || leaping.parity != ring.parity) *out++ = 0xdead;
    }
  }
}
template <class Config> __global__ void kernel(u32* out, u32 turns) {
  walk<2>(out, turns);
  walk<3>(out, turns);
  walk<4>(out, turns);
  walk<5>(out, turns);
  walk<6>(out, turns);
  walk<7>(out, turns);
  walk<8>(out, turns);
})cu");
  std::vector<std::uint32_t> out(2 * kTurns * kTurns * kMost);
  ASSERT_EQ(kernel.run(extents(1, 1), out.data(), static_cast<std::uint32_t>(kTurns)).text, "");
  std::vector<std::uint32_t> expected;
  for (std::size_t stages = kFewest; stages <= kMost; ++stages) {
    for (std::size_t turn = 0; turn < kTurns; ++turn) {
      expected.push_back(static_cast<std::uint32_t>(turn % stages << 1 | (turn / stages & 1)));
    }
  }
  expected.resize(out.size());
  EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace tilewright::test::ring_test
