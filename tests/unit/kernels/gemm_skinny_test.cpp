// SPDX-License-Identifier: Apache-2.0
// gemm for few rows: fragments of all layouts and types, edges, parts of k among warps, blocks and clusters.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"
#include "tests/unit/kernels/gemm.hpp"

namespace tilewright::test::gemm_skinny_test {
namespace {

/// A dtype with its math.
struct Kind {
  const char* dtype;
  const char* math;
};
constexpr Kind kKinds[] = {{"bf16", "ieee"}, {"f16", "ieee"}, {"f32", "tf32"}, {"f32", "ieee"}};

bool is_exact(const Product& product) { return product.dtype == "f32" && product.math == "ieee"; }

/// Checks `most` legal configs with `part` in their text, evenly spread over the space.
void expect_all_right(const Product& product, std::size_t most, std::string_view part = "",
                      const ArgumentSet::Options& options = {}) {
  std::vector<Config> configs;
  for (const Config& config : gemm().sample(gemm().problem(product.key()), "skinny", 1000)) {
    if (config.text().find(part) != std::string::npos) configs.push_back(config);
  }
  ASSERT_FALSE(configs.empty()) << product.key() << " with " << part;
  const std::size_t count = std::min(most, configs.size());
  for (std::size_t i = 0; i < count; ++i) expect_right(product, configs[i * configs.size() / count].text(), options);
}

auto configs_on_an_h200(const Product& product) {
  const auto legal = expand(gemm().definition(), gemm().problem(product.key()), facts_of_an_h200()).legal;
  return std::ranges::count(legal, "skinny", [](const Candidate& each) { return each.config.implementation; });
}

TEST(GemmSkinny, is_right_for_every_layout_type_and_number_of_rows) {
  for (const auto& [dtype, math] : kKinds) {
    for (const char* layout : kLayouts) {
      for (const int m : {1, 3, 8, 17, 64}) {
        const Product product{.dtype = dtype, .layout = layout, .m = m, .n = 88, .k = 600, .math = math};
        if (is_exact(product) && (m > 16 || product.layout == "tn")) continue;
        expect_all_right(product, 1);
      }
    }
  }
}

TEST(GemmSkinny, has_a_config_for_every_width_of_few_rows) {
  for (const auto& [dtype, math] : kKinds) {
    for (const char* layout : kLayouts) {
      for (const int m : {1, 8, 16, 43, 64}) {
        for (const int n : {8, 64, 2136, 5000, 8704, 16896}) {
          const Product product{.dtype = dtype, .layout = layout, .m = m, .n = n, .k = 2560, .math = math};
          if (is_exact(product) && (m > 16 || product.layout == "tn")) continue;
          const auto legal = configs_on_an_h200(product);
          EXPECT_TRUE(legal >= 1 && legal <= 40) << legal << " for " << product.key();
        }
      }
    }
  }
}

TEST(GemmSkinny, is_right_with_every_tile) {
  for (const char* dtype : {"bf16", "f32"}) {
    for (const int block_n : {16, 32, 64, 128}) {
      const Product product{.dtype = dtype, .m = 5, .n = 1000, .k = 520};
      if (is_exact(product) && block_n > 64) continue;
      expect_all_right(product, 2, fmt::format("block_n={}", block_n));
    }
  }
}

TEST(GemmSkinny, is_right_from_one_element_on_and_for_primes) {
  for (const auto& [dtype, math] : kKinds) {
    for (const char* layout : kLayouts) {
      Product product{.dtype = dtype, .layout = layout, .math = math};
      if (is_exact(product) && product.layout == "tn") continue;
      expect_all_right(product, 1);
      product.m = 7;
      product.n = 131;
      product.k = 257;
      expect_all_right(product, 2);
    }
  }
}

TEST(GemmSkinny, takes_copies_as_narrow_as_the_rows_ask_for) {
  for (const char* layout : kLayouts) {
    for (const int elements : {1, 2, 4}) {
      const int odd = 9 * elements;
      expect_all_right({.layout = layout, .m = odd, .n = 5 * odd, .k = 33 * elements}, 1,
                       fmt::format("vec={}", 2 * elements));
    }
  }
}

TEST(GemmSkinny, adds_parts_of_k_through_a_workspace) {
  for (const int split_k : {2, 3, 4, 8}) {
    const Product product{.m = 16, .n = 36, .k = 4104, .bias = "yes", .act = "silu", .residual = "yes"};
    expect_all_right(product, 2, fmt::format("split_k={},cluster=0", split_k), {.seed = 2, .in_place = true});
  }
  expect_all_right({.dtype = "f32", .m = 9, .n = 36, .k = 2052}, 1, "split_k=4,cluster=0");
}

TEST(GemmSkinny, adds_parts_of_k_in_a_cluster) {
  for (const int split_k : {2, 4, 8}) {
    const Product product{.layout = "nn", .m = 16, .n = 40, .k = 4104, .bias = "yes", .residual = "yes"};
    expect_all_right(product, 2, fmt::format("split_k={},cluster=1", split_k), {.seed = 2, .in_place = true});
  }
  expect_all_right({.dtype = "f32", .m = 64, .n = 120, .k = 2052, .math = "tf32"}, 2, "cluster=1");
}

TEST(GemmSkinny, takes_piece_after_piece) {
  for (const int k : {40, 1000}) expect_all_right({.m = 16, .n = 2100, .k = k}, 3, "persistent=1");
  expect_all_right({.dtype = "f32", .m = 16, .n = 1100, .k = 200}, 2, "persistent=1");
}

TEST(GemmSkinny, serves_c_and_bias_at_any_address) {
  const Product product{.m = 5, .n = 66, .k = 34, .bias = "yes", .residual = "yes"};
  expect_all_right(product, 2, "", {.seed = 3, .misalign_elements = 2});
  const Product odd{.m = 5, .n = 67, .k = 35, .bias = "yes", .residual = "yes"};
  expect_all_right(odd, 2, "", {.seed = 3, .misalign_elements = 1});
}

/// c = a · bᵀ of f32, m × k and n × k, on the emulator; `seed` determines the order of threads.
class Launch {
 public:
  explicit Launch(const char* math, int cluster = 0) : cluster_(cluster), kernel_(source(math, cluster)) {}

  std::vector<float> run(const std::vector<float>& a, const std::vector<float>& b, std::uint64_t seed = 1) const {
    std::vector<float> c(kM * kN);
    std::vector<float> partials(2 * kSplits * 8 * 32, std::numeric_limits<float>::quiet_NaN());
    std::vector<unsigned> counters(2);
    constexpr std::size_t kShared = 3 * 64 * (32 + 8) * 4 + 4 * 8 * (32 + 4) * 4 + 16;
    EmulatedLaunch launch = extents(2 * kSplits, 128, kShared);
    if (cluster_ == 1) launch.cluster = {kSplits, 1, 1};
    launch.seed = seed;
    const auto outcome = kernel_.run(launch, a.data(), b.data(), c.data(), partials.data(), counters.data());
    EXPECT_EQ(outcome.text, "");
    EXPECT_EQ(counters, std::vector<unsigned>(2));
    return c;
  }

  static constexpr int kM = 5, kN = 40, kK = 700, kSplits = 3;

 private:
  static std::string source(const char* math, int cluster) {
    return fmt::format(R"(
#include "gemm/skinny.cu"
struct Small {{
  using dtype = float;
  static constexpr Name layout{{"nt"}}, math{{"{}"}}, bias{{"no"}}, act{{"none"}}, residual{{"no"}};
  static constexpr int block_m = 8, block_n = 32, block_k = 64, num_warps = 4, warp_n = 32, stages = 3, blocks = 1;
  static constexpr int split_k = {}, cluster = {}, persistent = 0, vec = 16;
}};
template <class>
__global__ void kernel(const float* a, const float* b, float* c, float* partials, unsigned* counters) {{
  gemm_skinny<Small>(a, b, nullptr, nullptr, c, partials, counters, {}, {}, {});
}})",
                       math, kSplits, cluster, kM, kN, kK);
  }

  int cluster_;
  EmulatedKernel kernel_;
};

std::vector<float> random_values(int count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

TEST(GemmSkinny, gives_the_same_bits_whichever_block_comes_last) {
  const auto a = random_values(Launch::kM * Launch::kK), b = random_values(Launch::kN * Launch::kK);
  for (const int cluster : {0, 1}) {
    const Launch launch("ieee", cluster);
    const auto first = launch.run(a, b);
    for (std::uint64_t seed = 2; seed < 8; ++seed) EXPECT_EQ(launch.run(a, b, seed), first);
  }
}

TEST(GemmSkinny, keeps_nan_and_infinity_to_their_rows_and_columns) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const char* math : {"ieee", "tf32"}) {
    auto a = random_values(Launch::kM * Launch::kK), b = random_values(Launch::kN * Launch::kK);
    a[2 * Launch::kK + 699] = std::numeric_limits<float>::quiet_NaN();
    b[35 * Launch::kK + 3] = kInf;
    b[36 * Launch::kK + 3] = kInf;
    b[36 * Launch::kK + 500] = -std::copysign(kInf, a[3] * a[500]);
    const auto c = Launch(math).run(a, b);
    for (int row = 0; row < Launch::kM; ++row) {
      for (int column = 0; column < Launch::kN; ++column) {
        const float value = c[static_cast<std::size_t>(row * Launch::kN + column)];
        if (row == 2 || (row == 0 && column == 36)) {
          EXPECT_TRUE(std::isnan(value)) << row << ", " << column;
        } else if (column == 35) {
          EXPECT_EQ(value, std::copysign(kInf, a[static_cast<std::size_t>(row * Launch::kK + 3)]));
        } else if (column != 36) {
          EXPECT_TRUE(std::isfinite(value)) << row << ", " << column;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::test::gemm_skinny_test
