// SPDX-License-Identifier: Apache-2.0
// kernels/device/philox.cuh, kernels/device/dropout.cuh and the op `dropout`.
#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "tests/unit/emulator/emulated.hpp"
#include "tests/unit/kernels/elementwise.hpp"

namespace tilewright::test::dropout_test {
namespace {

TEST(Philox, gives_the_known_answers_of_random123) {
  const EmulatedKernel kernel(R"cu(
#include "device/philox.cuh"
template <class Config> __global__ void kernel(const unsigned* in, unsigned* out) {
  using namespace tilewright;
  const PhiloxWords words = philox4x32_10({{in[0], in[1], in[2], in[3]}}, u64{in[5]} << 32 | in[4]);
  for (int i = 0; i < 4; ++i) out[i] = words[i];
})cu");
  using Words = std::array<std::uint32_t, 4>;
  struct Known {
    std::array<std::uint32_t, 6> counter_and_key;
    Words words;
  };
  const std::uint32_t ones = 0xffffffffU;
  for (const Known& known :
       {Known{{0, 0, 0, 0, 0, 0}, {0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}},
        Known{{ones, ones, ones, ones, ones, ones}, {0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}},
        Known{{0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U, 0xa4093822U, 0x299f31d0U},
              {0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U}}}) {
    Words out{};
    ASSERT_EQ(kernel.run(extents(1, 1), known.counter_and_key.data(), out.data()).text, "");
    EXPECT_EQ(out, known.words);
  }
}

TEST(Philox, of_a_grid_gives_the_same_words) {
  const EmulatedKernel kernel(R"cu(
#include "device/philox_grid.cuh"
template <class Config> __global__ void kernel(const unsigned* in, unsigned* differences) {
  using namespace tilewright;
  const u64 key = u64{in[0]} << 32 | in[1], offset = u64{in[2]} << 32 | in[3];
  const PhiloxGrid grid(key, offset);
  const u32 rows[] = {0u, 1u, in[4], ~0u}, groups[] = {0u, 1u, in[5], ~0u};
  for (const u32 row : rows) {
    for (const u32 group : groups) {
      const PhiloxWords one = grid.words(grid.row(row), grid.group(group));
      const PhiloxWords same = philox4x32_10({{group, row, in[3], in[2]}}, key);
      for (int i = 0; i < 4; ++i) differences[0] += one[i] != same[i];
    }
  }
})cu");
  const std::array<std::array<std::uint32_t, 6>, 3> drawn{{
      {0, 0, 0, 0, 0, 0},
      {0xffffffffU, 0xffffffffU, 0xffffffffU, 0xffffffffU, 12345U, 678U},
      {0xa4093822U, 0x299f31d0U, 0x13198a2eU, 0x03707344U, 0x243f6a88U, 0x85a308d3U},
  }};
  for (const auto& in : drawn) {
    std::array<std::uint32_t, 1> differences{};
    ASSERT_EQ(kernel.run(extents(1, 1), in.data(), differences.data()).text, "");
    EXPECT_EQ(differences[0], 0U) << in[0];
  }
}

TEST(DropoutFunction, keeps_what_its_definition_keeps_for_every_p_and_place) {
  const EmulatedKernel kernel(R"cu(
#include "device/dropout.cuh"
// A vector of N ones from `column` on, beside the definition element by element.
template <int kMultiple, int N>
__device__ void compare(float p, long long column, unsigned* wrong, unsigned* kept) {
  using namespace tilewright;
  const u64 seed = 0x123456789abcdefull, offset = 0xfedcba9876543210ull, row = 5000000000ull;
  float values[N];
  for (int j = 0; j < N; ++j) values[j] = 1.0f;
  Dropout(p, seed, offset).apply<kMultiple>(values, row, column);
  for (int j = 0; j < N; ++j) {
    const double exact = exact_dropout(1.0, p, seed, offset, row, column + j);
    if (!(fabs(values[j] - exact) <= 1e-6 * exact)) *wrong += 1;
    *kept += exact != 0.0;
  }
}
template <class Config> __global__ void kernel(float p, long long column, unsigned* wrong, unsigned* kept) {
  compare<1, 8>(p, column, wrong, kept);
  compare<1, 4>(p, column, wrong, kept);
  compare<1, 2>(p, column, wrong, kept);
  compare<1, 1>(p, column, wrong, kept);
  compare<4, 4>(p, column / 4 * 4, wrong, kept);
  compare<8, 8>(p, column / 8 * 8, wrong, kept);
})cu");
  for (const float p : {0.0F, 0x1p-24F, 1e-30F, 0.1F, 0.5F, 0.999F, 1.0F - 0x1p-24F, 1.0F}) {
    unsigned wrong = 0;
    unsigned kept = 0;
    constexpr unsigned kColumns = 201;
    for (long long column = 0; column < kColumns; ++column) {
      const long long place = column % 3 == 0 ? column + (1LL << 34) : column;
      ASSERT_EQ(kernel.run(extents(1, 1), p, place, &wrong, &kept).text, "");
    }
    EXPECT_EQ(wrong, 0U) << p;
    const double share = kept / (27.0 * kColumns);
    EXPECT_NEAR(share, 1.0 - p, 0.03) << p;
    EXPECT_TRUE(p != 0.0F || share == 1.0);
    EXPECT_TRUE(p != 1.0F || share == 0.0);
  }
}

BuiltInOp& dropout() {
  static BuiltInOp op("dropout");
  return op;
}

TEST(DropoutOp, has_one_mask_whatever_dtype_length_and_config) {
  for (const char* dtype : kDtypes) {
    for (const int n : {1, 7, 2048, 6151}) {
      const std::string key = fmt::format("dropout[dtype={}]{{n={}}}", dtype, n);
      expect_right(dropout(), key, "flat", 2);
      expect_right_base(dropout(), key);
    }
  }
}

TEST(DropoutOp, has_the_same_mask_at_addresses_that_are_only_element_aligned) {
  for (const char* dtype : kDtypes) {
    for (const int shift : {1, 2, 3, 5}) {
      expect_right_base(dropout(), fmt::format("dropout[dtype={}]{{n=517}}", dtype),
                        {.seed = 7, .misalign_elements = shift});
    }
  }
}

TEST(DropoutOp, may_write_over_its_input) {
  expect_right(dropout(), "dropout[dtype=bf16]{n=6151}", "flat", 4, {.seed = 3, .in_place = true});
}

}  // namespace
}  // namespace tilewright::test::dropout_test
