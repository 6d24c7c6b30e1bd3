// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdint>

#include "tests/unit/emulator/emulated.hpp"
#include "tests/unit/kernels/elementwise.hpp"
#include "tests/unit/kernels/op_values.hpp"

/// The op `gemm_gated`.
namespace tilewright::test::gemm_gated_test {
namespace {

BuiltInOp& gemm_gated() {
  static BuiltInOp op("gemm_gated");
  return op;
}

struct Gated {
  const char* weights = "split";
  const char* act = "silu";
  const char* bias = "yes";
  const char* store = "yes";
  int m = 1, n = 1, k = 1;
  const char* dtype = "bf16";

  [[nodiscard]] std::string key() const {
    return fmt::format("gemm_gated[dtype={},weights={},act={},bias={},store={}]{{m={},n={},k={}}}", dtype, weights, act,
                       bias, store, m, n, k);
  }
};

constexpr const char* kWeights[] = {"split", "interleaved", "packed"};

TEST(GemmGated, is_right_however_its_weights_lie) {
  for (const char* weights : kWeights) {
    for (const char* implementation : {"simt", "mma", "skinny"}) {
      expect_right(gemm_gated(), Gated{.weights = weights, .m = 37, .n = 72, .k = 136}.key(), implementation, 1);
    }
  }
}

TEST(GemmGated, is_right_with_every_activation_and_with_nothing_around_it) {
  for (const char* act : {"silu", "gelu", "relu"}) {
    for (const char* implementation : {"simt", "mma", "skinny"}) {
      const Gated gated{.act = act, .bias = "no", .store = "no", .m = 11, .n = 40, .k = 72, .dtype = "f16"};
      expect_right(gemm_gated(), gated.key(), implementation, 1);
    }
  }
}

TEST(GemmGated, is_right_at_widths_that_are_no_vectors_and_at_any_address) {
  for (const char* weights : kWeights) {
    for (const int n : {1, 34, 67}) {
      const Gated gated{.weights = weights, .m = 5, .n = n, .k = 35};
      expect_right(gemm_gated(), gated.key(), "mma", 2, {.seed = 3, .misalign_elements = 1});
      expect_right_base(gemm_gated(), gated.key(), {.seed = 3, .misalign_elements = 1});
      expect_right(gemm_gated(), Gated{.weights = weights, .m = 5, .n = n, .k = 40}.key(), "skinny", 1);
    }
  }
}

TEST(GemmGated, adds_parts_of_k_before_it_multiplies) {
  const Problem problem = gemm_gated().problem(Gated{.weights = "packed", .m = 40, .n = 60, .k = 1032}.key());
  for (const char* config :
       {"mma{block_m=64,block_n=64,block_k=64,warp_m=32,warp_n=32,stages=4,split_k=2,group=1,vec=16}",
        "skinny{block_m=64,block_n=128,block_k=64,num_warps=8,warp_n=32,stages=6,blocks=1,split_k=4,"
        "cluster=1,persistent=0,vec=16}",
        "skinny{block_m=64,block_n=128,block_k=64,num_warps=8,warp_n=32,stages=6,blocks=1,split_k=3,"
        "cluster=0,persistent=0,vec=16}"}) {
    EXPECT_EQ(gemm_gated().fault(problem, Config::parse(config), {.seed = 2}), "");
  }
}

TEST(GemmGated, takes_the_same_weights_in_each_of_three_layouts) {
  constexpr long long kRows = 3, kCols = 5, kDepth = 4;
  const EmulatedKernel kernel(R"cu(
#include "gemm_gated/reference.cu"
template <int kLayout>
struct Fixed {
  using dtype = float;
  static constexpr Name weights{kLayout == 0 ? Name("split") : kLayout == 1 ? Name("interleaved") : Name("packed")};
  static constexpr Name act{"silu"}, bias{"no"}, store{"yes"};
};
template <class>
__global__ void kernel(const float* a, const float* wg, const float* wu, const float* interleaved, const float* packed,
                       double* y, double* gate, double* up, long long m, long long n, long long k) {
  const float* none = nullptr;
  gemm_gated_reference<Fixed<0>>(a, wg, wu, none, none, none, y, gate, up, m, n, k);
  y += m * n, gate += m * n, up += m * n;
  gemm_gated_reference<Fixed<1>>(a, none, none, interleaved, none, none, y, gate, up, m, n, k);
  y += m * n, gate += m * n, up += m * n;
  gemm_gated_reference<Fixed<2>>(a, none, none, packed, none, none, y, gate, up, m, n, k);
})cu");
  const auto floats = [](long long count, std::uint32_t seed) {
    const std::vector<double> values = random_values(static_cast<std::size_t>(count), seed);
    return std::vector<float>(values.begin(), values.end());
  };
  const std::vector<float> a = floats(kRows * kDepth, 1), wg = floats(kCols * kDepth, 2),
                           wu = floats(kCols * kDepth, 3);
  std::vector<float> interleaved, packed = wg;
  packed.insert(packed.end(), wu.begin(), wu.end());
  for (auto at = wg.begin(), of_up = wu.begin(); at != wg.end(); at += kDepth, of_up += kDepth) {
    interleaved.insert(interleaved.end(), at, at + kDepth);
    interleaved.insert(interleaved.end(), of_up, of_up + kDepth);
  }
  constexpr std::size_t kCount = kRows * kCols;
  std::vector<double> y(3 * kCount), gate(3 * kCount), up(3 * kCount);
  ASSERT_EQ(kernel
                .run(extents(1, 256), a.data(), wg.data(), wu.data(), interleaved.data(), packed.data(), y.data(),
                     gate.data(), up.data(), kRows, kCols, kDepth)
                .text,
            "");
  for (std::size_t i = 0; i < 3 * kCount; ++i) {
    EXPECT_EQ(y[i], y[i % kCount]) << i;
    EXPECT_EQ(gate[i], gate[i % kCount]) << i;
    EXPECT_EQ(up[i], up[i % kCount]) << i;
  }
  double first = 0.0;
  for (std::size_t i = 0; i < kDepth; ++i) first += double{a[i]} * double{wg[i]};
  EXPECT_EQ(gate[0], first);
}

TEST(GemmGated, takes_a_row_for_both_weights_by_maps_where_no_box_reaches_into_the_next) {
  const auto by_wgmma = [](int k) {
    const Problem problem = gemm_gated().problem(Gated{.weights = "interleaved", .m = 512, .n = 4096, .k = k}.key());
    int count = 0;
    for (const Candidate& candidate : expand(gemm_gated().definition(), problem, facts_of_an_h200()).legal) {
      count += candidate.config.implementation == "wgmma" ? 1 : 0;
    }
    return count;
  };
  EXPECT_GT(by_wgmma(4096), 10);
  EXPECT_EQ(by_wgmma(4104), 0);
}

TEST(GemmGated, cuts_the_tiles_of_the_last_wave_into_parts_that_cover_k_and_no_others) {
  // 35 tiles on 8 clusters leave 3, with two parts each; 33 leave 1, with 6 parts; 36 leave 4, too many to divide.
  for (const auto& [rows, tail, whole] : {std::tuple{35, 2, 32}, {33, 6, 32}, {36, 3, 36}, {32, 4, 32}}) {
    const EmulatedKernel kernel(fmt::format(R"cu(
#include "gemm/fused/tail_wgmma.cuh"
struct Fixed {{
  using dtype = __half;
  static constexpr Name layout{{"nt"}}, bias{{"no"}}, act{{"none"}}, residual{{"no"}}, implementation{{"tail"}};
  static constexpr int block_m = 128, block_n = 256, pingpong = 0, block_k = 64, consumers = 2, stages = 4, split_k = 1;
  static constexpr int cluster_k = 1, cluster_m = 1, cluster_n = 1, group = 4, tail = {};
}};
template <class>
__global__ void kernel(unsigned* times, unsigned* parts, long long m) {{
  gemm::Schedule<gemm::TailedByMap<Fixed>> schedule(m, 256, 1000, 0);
  for (; !schedule.done(); schedule.skip(1)) {{
    const auto work = schedule.work();
    if (work.is_part) atomicAdd(parts, 1u);
    for (u32 i = 0; i < work.range.count; ++i) atomicAdd(times + work.row / 128 * 16 + work.range.first + i, 1u);
  }}
}})cu",
                                            tail));
    std::vector<std::uint32_t> times(static_cast<std::size_t>(rows) * 16);
    std::uint32_t parts = 0;
    ASSERT_EQ(kernel.run(extents(8, 1), times.data(), &parts, rows * 128LL).text, "");
    EXPECT_EQ(parts, static_cast<std::uint32_t>((rows - whole) * tail)) << rows;
    for (const std::uint32_t each : times) ASSERT_EQ(each, 1U) << rows;
  }
}

}  // namespace
}  // namespace tilewright::test::gemm_gated_test
