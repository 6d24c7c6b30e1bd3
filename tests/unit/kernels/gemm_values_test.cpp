// SPDX-License-Identifier: Apache-2.0
// Properties of gemm that verification's random inputs do not show: NaN and infinity, and the same bits in each run.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"
#include "tests/unit/kernels/gemm.hpp"

namespace tilewright::test::gemm_values_test {
namespace {

constexpr long long kRows = 20, kColumns = 70, kDepth = 75;

/// A kernel of gemm with a test's config, for f32, nt, relu.
class Launched {
 public:
  Launched(const std::string& name, const std::string& parameters, unsigned blocks, unsigned threads,
           std::size_t shared_bytes)
      : kernel_(fmt::format(R"(
struct Fixed {{
  using dtype = float;
  static constexpr Name layout{{"nt"}}, math{{"tf32"}}, bias{{"no"}}, act{{"relu"}}, residual{{"no"}};
  static constexpr int {1};
}};
#include "gemm/{0}.cu"
template <class>
__global__ void kernel(const float* a, const float* b, const float* bias, const float* residual, float* c, float* partial,
                       unsigned* counters, long long m, long long n, long long k) {{
  gemm_{0}<Fixed>(a, b, bias, residual, c, partial, counters, m, n, k);
}}
)",
                            name, parameters)),
        launch_(extents(blocks, threads, shared_bytes)) {}

  /// Returns c for a and b. Partial sums start as NaN; counters start as zeros and must end so.
  std::vector<float> run(const std::vector<float>& a, const std::vector<float>& b, std::uint64_t seed = 1) {
    std::vector<float> c(kRows * kColumns, -1.0f);
    std::vector<float> partial(1 << 16, std::numeric_limits<float>::quiet_NaN());
    std::vector<unsigned> counters(16, 0);
    launch_.seed = seed;
    const float* none = nullptr;
    const EmulatedOutcome outcome = kernel_.run(launch_, a.data(), b.data(), none, none, c.data(), partial.data(),
                                                counters.data(), kRows, kColumns, kDepth);
    EXPECT_EQ(outcome.text, "");
    EXPECT_EQ(counters, std::vector<unsigned>(16, 0));
    return c;
  }

 private:
  EmulatedKernel kernel_;
  EmulatedLaunch launch_;
};

Launched simt() { return {"simt", "block_m = 64, block_n = 64, block_k = 16, split_k = 1", 2, 64, 17424}; }
Launched mma() {
  return {
      "mma",
      "block_m = 32, block_n = 64, block_k = 16, warp_m = 16, warp_n = 32, stages = 3, split_k = 3, group = 1, vec = 4",
      6, 128, 18448};
}

/// Values of all sizes, so that another order of addition gives other bits.
std::vector<float> values(long long count, std::uint32_t state) {
  std::vector<float> made;
  for (long long i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    made.push_back(std::ldexp(static_cast<float>(state >> 8) - 8388608.0f, -24 - static_cast<int>(state >> 5 & 7)));
  }
  return made;
}

class GemmValues : public ::testing::TestWithParam<Launched (*)()> {};

TEST_P(GemmValues, nan_and_infinity_reach_the_elements_that_they_belong_to_and_no_other) {
  Launched kernel = GetParam()();
  std::vector<float> a = values(kRows * kDepth, 1), b = values(kColumns * kDepth, 2);
  const std::vector<float> before = kernel.run(a, b);
  a[3 * kDepth + 74] = std::numeric_limits<float>::quiet_NaN();
  a[5 * kDepth + 20] = std::numeric_limits<float>::infinity();
  b[66 * kDepth + 0] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> after = kernel.run(a, b);
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      const float value = after[static_cast<std::size_t>(row * kColumns + column)];
      if (row == 3 || column == 66) {
        EXPECT_TRUE(std::isnan(value)) << row << ' ' << column;
      } else if (row == 5) {
        // relu keeps positive infinity.
        const bool positive = b[static_cast<std::size_t>(column * kDepth + 20)] > 0;
        EXPECT_EQ(value, positive ? std::numeric_limits<float>::infinity() : 0.0f) << column;
      } else {
        EXPECT_EQ(value, before[static_cast<std::size_t>(row * kColumns + column)]) << row << ' ' << column;
      }
    }
  }
}

TEST_P(GemmValues, are_the_same_bits_whatever_the_order_of_blocks) {
  Launched kernel = GetParam()();
  const std::vector<float> a = values(kRows * kDepth, 3), b = values(kColumns * kDepth, 4);
  const std::vector<float> first = kernel.run(a, b);
  for (const std::uint64_t seed : {2, 3, 4, 5}) EXPECT_EQ(kernel.run(a, b, seed), first) << seed;
}

INSTANTIATE_TEST_SUITE_P(Kernels, GemmValues, ::testing::Values(&simt, &mma),
                         [](const auto& kernel) { return kernel.index == 0 ? "simt" : "mma"; });

}  // namespace
}  // namespace tilewright::test::gemm_values_test
