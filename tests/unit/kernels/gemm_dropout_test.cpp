// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdint>

#include "tests/unit/emulator/emulated.hpp"
#include "tests/unit/kernels/elementwise.hpp"
#include "tests/unit/kernels/op_values.hpp"

/// The op `gemm_dropout`.
namespace tilewright::test::gemm_dropout_test {
namespace {

BuiltInOp& gemm_dropout() {
  static BuiltInOp op("gemm_dropout");
  return op;
}

std::string key(const char* dtype, const char* bias, const char* act, const char* residual, int m, int n, int k) {
  return fmt::format("gemm_dropout[dtype={},bias={},act={},residual={}]{{m={},n={},k={}}}", dtype, bias, act, residual,
                     m, n, k);
}

TEST(GemmDropout, is_right_with_everything_and_with_nothing_around_it) {
  for (const char* implementation : {"simt", "mma", "skinny"}) {
    expect_right(gemm_dropout(), key("bf16", "yes", "gelu", "yes", 37, 72, 136), implementation, 2);
    expect_right(gemm_dropout(), key("f16", "no", "none", "no", 37, 72, 136), implementation, 2);
  }
}

TEST(GemmDropout, is_right_at_widths_that_are_no_vectors_and_at_any_address) {
  for (const int n : {1, 66, 67}) {
    const std::string problem = key("bf16", "yes", "silu", "yes", 5, n, 35);
    expect_right(gemm_dropout(), problem, "mma", 2, {.seed = 3, .misalign_elements = 1});
    expect_right_base(gemm_dropout(), problem, {.seed = 3, .misalign_elements = 1});
    expect_right(gemm_dropout(), key("bf16", "yes", "silu", "yes", 5, n, 40), "skinny", 1);
  }
}

TEST(GemmDropout, drops_once_however_k_is_split_and_may_write_over_the_residual) {
  const Problem problem = gemm_dropout().problem(key("bf16", "yes", "relu", "yes", 40, 72, 1032));
  for (const char* config :
       {"mma{block_m=64,block_n=64,block_k=64,warp_m=32,warp_n=32,stages=4,split_k=4,group=1,vec=16}",
        "skinny{block_m=64,block_n=128,block_k=64,num_warps=8,warp_n=32,stages=6,blocks=1,split_k=4,"
        "cluster=1,persistent=0,vec=16}",
        "skinny{block_m=64,block_n=128,block_k=64,num_warps=8,warp_n=32,stages=6,blocks=1,split_k=3,"
        "cluster=0,persistent=0,vec=16}"}) {
    EXPECT_EQ(gemm_dropout().fault(problem, Config::parse(config), {.seed = 2, .in_place = true}), "");
  }
}

TEST(GemmDropout, drops_what_bias_act_dropout_drops_and_adds_the_residual_behind_it) {
  constexpr long long kRows = 9, kCols = 70;
  const EmulatedKernel kernel(R"cu(
#include "bias_act_dropout/bias_act_dropout.cu"
#include "gemm_dropout/reference.cu"
struct Fixed {
  using dtype = float;
  static constexpr Name act{"gelu"}, pitch{"dense"}, bias{"yes"}, residual{"yes"};
};
// a is x, b the identity.
template <class>
__global__ void kernel(const float* x, const float* b, const float* bias, const float* residual, double* c, double* y,
                       float p, unsigned long long seed, unsigned long long offset, long long rows, long long cols) {
  gemm_dropout_reference<Fixed>(x, b, bias, residual, c, p, seed, offset, rows, cols, cols);
  bias_act_dropout_reference<Fixed>(x, bias, y, 1.0f, p, seed, offset, 0, 0, rows, cols);
})cu");
  const auto floats = [](long long count, std::uint32_t seed) {
    const std::vector<double> values = random_values(static_cast<std::size_t>(count), seed);
    return std::vector<float>(values.begin(), values.end());
  };
  const std::vector<float> x = floats(kRows * kCols, 1), bias = floats(kCols, 2), residual = floats(kRows * kCols, 3);
  std::vector<float> identity(kCols * kCols, 0.0F);
  for (std::size_t i = 0; i < kCols; ++i) identity[i * (kCols + 1)] = 1.0F;
  for (const float p : {0.0F, 0.3F, 1.0F}) {
    std::vector<double> c(kRows * kCols, -1.0), y(kRows * kCols, -1.0);
    const std::uint64_t seed = 77, offset = 5'000'000'000;
    ASSERT_EQ(kernel
                  .run(extents(2, 256), x.data(), identity.data(), bias.data(), residual.data(), c.data(), y.data(), p,
                       seed, offset, kRows, kCols)
                  .text,
              "");
    for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], y[i] + double{residual[i]}) << p << ' ' << i;
  }
}

TEST(GemmDropout, gives_each_thread_of_a_warpgroup_the_bits_of_its_own_sums) {
  // Tiles with and without a whole number of queue words, of one slab and of two.
  for (const auto& [block_m, block_n] : {std::pair{128, 256}, {128, 96}, {256, 96}}) {
    const EmulatedKernel kernel(fmt::format(R"cu(
#include "device/dropout.cuh"
#include "gemm_dropout/wgmma.cu"
struct Fixed {{
  using dtype = __half;
  static constexpr Name bias{{"no"}}, act{{"none"}}, residual{{"no"}};
  static constexpr int block_m = {}, block_n = {}, block_k = 64, consumers = 2, pingpong = 0, stages = 2, split_k = 1;
  static constexpr int cluster_k = 1, cluster_m = 1, cluster_n = 1, group = 1;
}};
template <class>
__global__ void kernel(float p, unsigned long long seed, unsigned long long offset, unsigned* wrong, unsigned* kept) {{
  using C = gemm::LinearByMap<Fixed>;
  using G = gemm::Geometry<C>;
  constexpr i64 kRow = 5000000000, kColumn = 7 * G::kBlockN;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const gemm::Draw draw(p, seed, offset);
  alignas(16) PhiloxGrid::Group groups[gemm::Kept<C>::kGroupsOfTile];
  for (u32 i = 0; i < gemm::Kept<C>::kGroupsOfTile; ++i) groups[i] = draw.grid.group(static_cast<u32>(kColumn / 4) + i);
  gemm::Kept<C> drawn;
  drawn.draw(draw, groups, kRow, warp, lane);
  for (int slab = 0; slab < G::kSlabs; ++slab) {{
    for (int group = 0; group < G::kBlockN / 8; ++group) {{
      for (int half = 0; half < 2; ++half) {{
        for (int i = 0; i < 2; ++i) {{
          const i64 row = kRow + slab * 64 + warp * 16 + lane / 4 + half * 8, column = kColumn + group * 8 + lane % 4 * 2 + i;
          const bool is_kept = exact_dropout(1.0, p, seed, offset, row, column) != 0.0;
          if ((drawn.of(slab, group, half) >> i & 1) != is_kept) atomicAdd(wrong, 1u);
          if (is_kept) atomicAdd(kept, 1u);
        }}
      }}
    }}
  }}
}})cu",
                                            block_m, block_n));
    std::uint32_t wrong = 0, kept = 0;
    const std::uint64_t seed = 0x123456789abcdef, offset = 0xfedcba9876543210;
    ASSERT_EQ(kernel.run(extents(1, 128), 0.25F, seed, offset, &wrong, &kept).text, "");
    EXPECT_EQ(wrong, 0U);
    EXPECT_NEAR(kept, 0.75 * block_m / 2 * block_n, 300.0);
  }
}

}  // namespace
}  // namespace tilewright::test::gemm_dropout_test
