// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"
#include "tests/unit/kernels/built_in_op.hpp"
#include "tuner/definition/shapes.hpp"

namespace tilewright::copy_test {
namespace {

TEST(Copy, sums_every_element_of_its_inputs_whatever_the_length) {
  BuiltInOp copy("copy");
  for (const char* dtype : {"f32", "bf16"}) {
    for (const int reads : {1, 2, 3}) {
      for (const int n : {1, 1023, 8195}) {
        const Problem problem = copy.problem(fmt::format("copy[dtype={},reads={}]{{n={}}}", dtype, reads, n));
        for (const Config& config : copy.sample(problem, "vector", 2)) EXPECT_EQ(copy.fault(problem, config), "");
      }
    }
  }
}

TEST(Copy, serves_element_aligned_addresses_with_its_base) {
  BuiltInOp copy("copy");
  for (const int reads : {1, 3}) {
    const Problem problem = copy.problem(fmt::format("copy[dtype=f16,reads={}]{{n=777}}", reads));
    EXPECT_EQ(copy.fault(problem, copy.definition().base, {.seed = 2, .misalign_elements = 1}), "");
  }
}

TEST(Copy, keeps_all_bits_of_a_plain_copy) {
  const std::string source = fmt::format(
      "struct Copying {{\n"
      "  using dtype = __half;\n"
      "  static constexpr tilewright::Name reads{{\"1\"}};\n"
      "  static constexpr int num_warps = 1, vec = 8, unroll = 2, persistent = 1, streaming = 1;\n"
      "}};\n"
      "#include \"{}/copy/copy.cu\"\n"
      "template <class> __global__ void kernel(const __half* x, __half* y, long long n) {{\n"
      "  copy_vector<Copying>(x, nullptr, nullptr, y, n);\n}}\n",
      test_kernels_dir().string());
  const test::EmulatedKernel kernel(source);
  // All bit patterns, signalling NaNs included, and a tail shorter than a vector.
  alignas(16) static std::uint16_t from[65536 + 8];
  alignas(16) static std::uint16_t to[65536 + 8];
  constexpr long long kCount = 65536 + 3;
  for (int i = 0; i < kCount; ++i) from[i] = static_cast<std::uint16_t>(i * 3);
  const EmulatedOutcome outcome = kernel.run(test::extents(4, 32), static_cast<const std::uint16_t*>(from),
                                             static_cast<std::uint16_t*>(to), kCount);
  ASSERT_TRUE(outcome.ok()) << outcome.text;
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(to[i], from[i]) << i;
  EXPECT_EQ(to[kCount], 0);
}

TEST(CopySpace, is_small_and_the_same_for_every_ratio) {
  BuiltInOp copy("copy");
  for (const char* key : {"copy[dtype=f32,reads=1]{n=1000000}", "copy[dtype=bf16,reads=3]{n=7}"}) {
    EXPECT_EQ(expand(copy.definition(), copy.problem(key), facts_of_an_h200()).legal.size(), 40U) << key;
  }
}

TEST(Fma, ends_its_chains_where_the_reference_does) {
  BuiltInOp fma("fma");
  for (const char* key : {"fma[dtype=f32]{n=1,steps=1}", "fma[dtype=f32]{n=1000,steps=37}"}) {
    const Problem problem = fma.problem(key);
    for (const Config& config : fma.sample(problem, "chains", 3)) EXPECT_EQ(fma.fault(problem, config), "");
  }
}

TEST(Fma, is_far_from_being_bound_by_memory) {
  BuiltInOp fma("fma");
  const auto problems = default_shapes(fma.definition(), parse_spec("fma", fma.definition().interface), false);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_GE(fma.definition().flops_of(problems[0]), 100 * fma.definition().bytes_of(problems[0]));
}

}  // namespace
}  // namespace tilewright::copy_test
