// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "tests/unit/kernels/built_in_op.hpp"

/// The norms, which are variants of device/row/norm.cuh, over the skeletons of device/row.
namespace tilewright::norm_test {
namespace {

BuiltInOp& op(const std::string& name) {
  static std::map<std::string, std::unique_ptr<BuiltInOp>> ops;
  auto& place = ops[name];
  if (place == nullptr) place = std::make_unique<BuiltInOp>(name);
  return *place;
}

/// An op and a dtype.
class Norm : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  [[nodiscard]] static std::string op_name() {
    const std::string spec = std::get<0>(GetParam());
    return spec.substr(0, spec.find(','));
  }
  [[nodiscard]] static Problem shape(int rows, int cols, const char* more = "") {
    const std::string spec = std::get<0>(GetParam());
    const std::string attributes = spec.substr(op_name().size());
    return op(op_name()).problem(fmt::format("{}[dtype={}{}{}]{{rows={},cols={}}}", op_name(), std::get<1>(GetParam()),
                                             attributes, more, rows, cols));
  }
  static void expect_right(const Problem& problem, const char* implementation, std::size_t most,
                           const ArgumentSet::Options& options = {}) {
    const auto configs = op(op_name()).sample(problem, implementation, most);
    EXPECT_FALSE(configs.empty()) << implementation << " of " << problem.key();
    for (const Config& config : configs) EXPECT_EQ(op(op_name()).fault(problem, config, options), "");
  }
};

TEST_P(Norm, is_right_on_chip_at_odd_and_at_whole_widths) {
  for (const int cols : {61, 256}) expect_right(shape(3, cols), "onchip", 2);
}

TEST_P(Norm, is_right_on_chip_whenever_the_weights_come) {
  for (const auto& [cols, ways] : {std::pair{520, 3}, std::pair{523, 2}}) {
    const Problem problem = shape(3, cols);
    std::map<std::int64_t, Config> config_of;  // by loading time: late, early to registers, early to shared memory
    for (const Config& config : op(op_name()).sample(problem, "onchip", 1000)) {
      config_of.insert_or_assign(config.value_or("early_columns", 0), config);
    }
    EXPECT_EQ(config_of.size(), static_cast<std::size_t>(ways)) << problem.key();
    for (const auto& [when, config] : config_of) EXPECT_EQ(op(op_name()).fault(problem, config), "");
  }
}

TEST_P(Norm, is_right_on_chip_in_place_where_rows_are_ragged) {
  // In place, edges are written before vectors.
  for (const Config& config : op(op_name()).sample(shape(9, 2051), "onchip", 2)) {
    EXPECT_EQ(op(op_name()).fault(shape(9, 2051), config, {.seed = 3, .in_place = true}), "");
  }
}

TEST_P(Norm, is_right_staged_at_odd_and_at_whole_widths) {
  expect_right(shape(5, 2048), "staged", 1);
  expect_right(shape(5, 2051), "staged", 2);
}

TEST_P(Norm, is_right_over_clusters_at_odd_and_at_whole_widths) {
  expect_right(shape(5, 16384), "cluster", 1);
  expect_right(shape(5, 16389), "cluster", 1);
}

TEST_P(Norm, base_is_right_for_one_element_in_place_strided_and_at_any_address) {
  const Config base = op(op_name()).definition().base;
  for (const Problem& problem : {shape(1, 1), shape(3, 61), shape(3, 61, ",pitch=strided")}) {
    EXPECT_EQ(op(op_name()).fault(problem, base), "");
    EXPECT_EQ(op(op_name()).fault(problem, base, {.seed = 3, .in_place = true}), "");
    EXPECT_EQ(op(op_name()).fault(problem, base, {.seed = 3, .misalign_elements = 1}), "");
  }
}

/// The name of a test of one op and dtype.
std::string name_of(const ::testing::TestParamInfo<std::tuple<const char*, const char*>>& test) {
  std::string name = std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param);
  for (char& c : name) {
    if (c == ',' || c == '=') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Ops, Norm,
                         ::testing::Combine(::testing::Values("rmsnorm", "layernorm", "add_rmsnorm",
                                                              "add_rmsnorm,store=yes", "add_layernorm,store=yes",
                                                              "add_rmsnorm_silu"),
                                            ::testing::Values("f32", "bf16")),
                         name_of);

/// The norms that have `kept`.
class KeptNorm : public Norm {};

TEST_P(KeptNorm, is_right_by_clusters_that_keep_their_columns_row_after_row) {
  const int cols = std::get<1>(GetParam()) == std::string("f32") ? 32768 : 65536;
  expect_right(shape(11, cols), "kept", 3);
  expect_right(shape(11, cols + 5, ",pitch=strided"), "kept", 2, {.seed = 3, .in_place = true});
  expect_right(shape(9, cols + 1), "kept", 1, {.seed = 3, .misalign_elements = 1});
  // A vector more or less than two chunks, depending on the row's start.
  expect_right(shape(9, cols == 32768 ? 32773 : 65545), "kept", 3);
}

INSTANTIATE_TEST_SUITE_P(Ops, KeptNorm,
                         ::testing::Combine(::testing::Values("rmsnorm", "layernorm", "add_rmsnorm,store=yes",
                                                              "add_layernorm,store=yes", "add_rmsnorm_silu"),
                                            ::testing::Values("f32", "bf16")),
                         name_of);

class HeldNorm : public Norm {};

TEST_P(HeldNorm, is_right_by_threads_that_hold_a_few_rows) {
  for (const int cols : {131, 257, 517, 1027}) expect_right(shape(77, cols), "held", 3);
  expect_right(shape(77, 257, ",pitch=strided"), "held", 2, {.seed = 3, .in_place = true});
  expect_right(shape(19, 2051), "held", 2, {.seed = 3, .misalign_elements = 1});
  expect_right(shape(19, 2051), "held", 3);
}

INSTANTIATE_TEST_SUITE_P(Ops, HeldNorm,
                         ::testing::Combine(::testing::Values("rmsnorm", "layernorm", "add_layernorm,store=yes",
                                                              "add_rmsnorm_silu"),
                                            ::testing::Values("f32", "bf16")),
                         name_of);

class CopiedNorm : public Norm {};

TEST_P(CopiedNorm, is_right_by_clusters_that_copy_a_row_with_its_weights) {
  const bool is_f32 = std::get<1>(GetParam()) == std::string("f32");
  for (const int cols : is_f32 ? std::array{8192, 12292} : std::array{16384, 24584}) {
    expect_right(shape(3, cols), "cluster_async", 2);
    expect_right(shape(3, cols, ",pitch=strided"), "cluster_async", 2, {.seed = 3, .in_place = true});
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, CopiedNorm,
                         ::testing::Combine(::testing::Values("rmsnorm", "add_rmsnorm,store=yes", "add_rmsnorm_silu"),
                                            ::testing::Values("f32", "bf16")),
                         name_of);

TEST(RaggedNorm, is_right_with_weights_in_shared_memory) {
  for (const auto& [name, implementation, attributes, rows, cols] :
       {std::tuple{"layernorm", "held_aside", "dtype=f16,pitch=strided", 39, 2051},
        {"layernorm", "held_aside", "dtype=bf16", 19, 4099},
        {"layernorm", "held_aside_cluster", "dtype=f32,pitch=strided", 19, 16389},
        {"layernorm", "held_aside_cluster", "dtype=bf16", 19, 65537},
        {"rmsnorm", "held_aside_cluster", "dtype=bf16", 19, 65537},
        {"add_rmsnorm", "held_aside_cluster", "dtype=f32,pitch=strided,store=yes", 19, 16389},
        {"add_layernorm", "held_aside_cluster", "dtype=bf16,store=yes", 19, 65537}}) {
    const Problem problem = op(name).problem(fmt::format("{}[{}]{{rows={},cols={}}}", name, attributes, rows, cols));
    const auto configs = op(name).sample(problem, implementation, 3);
    EXPECT_FALSE(configs.empty()) << problem.key();
    for (const Config& config : configs) {
      EXPECT_EQ(op(name).fault(problem, config, {.seed = 3, .in_place = true}), "");
      EXPECT_EQ(op(name).fault(problem, config, {.seed = 3, .misalign_elements = 1}), "");
    }
  }
}

TEST(NormHalf, is_right_in_f16) {
  for (const char* name : {"rmsnorm", "layernorm", "add_layernorm"}) {
    const Problem problem = op(name).problem(fmt::format("{}[dtype=f16]{{rows=3,cols=1001}}", name));
    for (const Config& config : op(name).sample(problem, "onchip", 1)) EXPECT_EQ(op(name).fault(problem, config), "");
  }
}

/// `chunks` tells the kernel which chunks each row fills; static widths do not show that case.
TEST(NormWidths, of_a_kernel_for_any_are_right_from_the_narrowest_to_the_widest_of_so_many_chunks) {
  int tested = 0;
  for (const char* name : {"rmsnorm", "layernorm", "softmax"}) {
    for (const auto& [ragged, early] : {std::pair{0, 0}, std::pair{0, 2}, std::pair{1, 0}, std::pair{1, 1}}) {
      if (early != 0 && name == std::string("softmax")) continue;  // softmax has no weights
      for (const auto& [vec, chunks] : {std::pair{8, 1}, {8, 2}, {8, 3}, {8, 8}, {4, 3}, {4, 12}, {4, 14}}) {
        const Config config = Config::parse(fmt::format(
            "onchip{{num_warps=1,rows_per_block=8,vec={},chunks={},ragged={},early_columns={},warps_per_sm=0,"
            "static_dims=0}}",
            vec, chunks, ragged, early));
        std::vector<Problem> legal;
        for (int cols = 1; cols <= (chunks + 1) * 4 * vec; ++cols) {
          Problem problem = op(name).problem(fmt::format("{}[dtype=bf16,pitch=strided]{{rows=9,cols={}}}", name, cols));
          if (op(name).is_legal(problem, config)) legal.push_back(std::move(problem));
        }
        if (legal.size() < 2) continue;  // too many for weights in registers
        ++tested;
        const std::size_t count = legal.size();
        for (const std::size_t place : {std::size_t{0}, std::size_t{1}, count / 2, count - 2, count - 1}) {
          for (int misaligned = 0; misaligned < (ragged != 0 ? vec : 1); ++misaligned) {
            EXPECT_EQ(op(name).fault(legal[place], config, {.seed = 5, .misalign_elements = misaligned}), "");
          }
        }
      }
    }
  }
  EXPECT_EQ(tested, 63);
}

}  // namespace
}  // namespace tilewright::norm_test
