// SPDX-License-Identifier: Apache-2.0
// The ops `add` and `mul`: the flat skeleton with two inputs.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "tests/unit/emulator/emulated.hpp"
#include "tests/unit/kernels/elementwise.hpp"

namespace tilewright::test::add_mul_test {
namespace {

/// The value of finite fp16 bits.
float half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                   : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

class AddAndMul : public ::testing::TestWithParam<const char*> {
 protected:
  static BuiltInOp& op() {
    static BuiltInOp add("add");
    static BuiltInOp mul("mul");
    return GetParam() == std::string("add") ? add : mul;
  }
  static std::string key(const char* dtype, const char* act, int n) {
    return fmt::format("{}[dtype={},act={}]{{n={}}}", GetParam(), dtype, act, n);
  }
};

TEST_P(AddAndMul, are_right_for_every_activation_and_dtype) {
  for_acts_and_dtypes([](const char* act, const char* dtype) { expect_right_base(op(), key(dtype, act, 517)); });
}

TEST_P(AddAndMul, are_right_for_any_length) {
  for (const char* dtype : kDtypes) {
    for (const int n : {1, 7, 2048, 6151}) expect_right(op(), key(dtype, "none", n), "flat", 2);
  }
}

TEST_P(AddAndMul, serve_addresses_that_are_only_element_aligned) {
  for (const char* dtype : kDtypes) {
    for (const int shift : {1, 2, 3}) {
      expect_right_base(op(), key(dtype, "none", 517), {.seed = 7, .misalign_elements = shift});
    }
  }
}

TEST_P(AddAndMul, may_write_over_their_first_input) {
  expect_right(op(), key("f16", "none", 6151), "flat", 2, {.seed = 3, .in_place = true});
}

TEST(Flat, reads_inputs_at_other_places_in_a_vector_than_the_outputs) {
  const EmulatedKernel kernel(R"cu(
#include "device/elementwise/flat.cuh"
struct Knobs { enum : int { num_warps = 1, vec = 8, unroll = 2, ragged = 1, persistent = 0, hints = 2 }; };
struct Difference {
  template <int kMultiple, int N>
  __device__ void apply(float (&values)[2][N], long long first) const {
    for (int j = 0; j < N; ++j) values[0][j] = values[0][j] - values[1][j] + static_cast<float>(first + j);
  }
};
template <class Config> __global__ void kernel(const __half* a, const __half* b, __half* y, long long n) {
  tilewright::elementwise::flat<Knobs>(a, b, y, n, Difference{});
})cu");
  // Integers in fp16: 2^10 + i, whose lowest bits are i.
  constexpr std::uint16_t kFirst = 0x6400;
  alignas(16) std::uint16_t a[64];
  alignas(16) std::uint16_t b[64];
  for (std::uint16_t i = 0; i < 64; ++i) a[i] = static_cast<std::uint16_t>(kFirst + 3 * i), b[i] = kFirst + i;
  for (std::size_t from_a = 0; from_a < 8; ++from_a) {
    for (const std::size_t from_b : {0U, 1U, 6U}) {
      for (const std::size_t to : {0U, 1U, 7U}) {
        for (const std::size_t n : {1U, 9U, 40U}) {
          alignas(16) std::uint16_t y[64] = {};
          ASSERT_EQ(kernel.run(extents(1, 32), &a[from_a], &b[from_b], &y[to], static_cast<long long>(n)).text, "");
          for (std::size_t i = 0; i < 64; ++i) {
            // 3 (from_a + i) - (from_b + i) + i, an integer of at most 2^10.
            const bool inside = i >= to && i < to + n;
            const std::size_t k = i - to;
            const float expected = static_cast<float>(3 * (from_a + k)) - static_cast<float>(from_b);
            EXPECT_EQ(half_value(y[i]), inside ? expected : 0.0F) << from_a << ' ' << from_b << ' ' << to << ' ' << n;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, AddAndMul, ::testing::Values("add", "mul"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace tilewright::test::add_mul_test
