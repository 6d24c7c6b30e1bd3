// SPDX-License-Identifier: Apache-2.0
// The ops `bias_act` and `bias_act_dropout`, and the skeletons tiled.cuh and dense.cuh of device/elementwise.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/temporary_folder.hpp"
#include "tests/unit/kernels/elementwise.hpp"

namespace tilewright::test::bias_act_test {
namespace {

class BiasAct : public ::testing::TestWithParam<const char*> {
 protected:
  static BuiltInOp& op() {
    static BuiltInOp plain("bias_act");
    static BuiltInOp dropout("bias_act_dropout");
    return GetParam() == std::string("bias_act") ? plain : dropout;
  }
  static std::string key(const char* dtype, const char* act, int rows, int cols, const char* pitch = "dense") {
    return fmt::format("{}[dtype={},act={},pitch={}]{{rows={},cols={}}}", GetParam(), dtype, act, pitch, rows, cols);
  }
};

TEST_P(BiasAct, is_right_for_every_activation_and_dtype) {
  for_acts_and_dtypes([](const char* act, const char* dtype) { expect_right_base(op(), key(dtype, act, 5, 61)); });
}

TEST_P(BiasAct, is_right_at_odd_and_at_whole_widths_with_one_mask_whatever_the_config) {
  for (const char* dtype : kDtypes) {
    expect_right(op(), key(dtype, "relu", 37, 61), "tiled", 2);
    expect_right(op(), key(dtype, "relu", 37, 64), "tiled", 2);
  }
  expect_right(op(), key("bf16", "relu", 3, 2051), "tiled", 3);
}

TEST_P(BiasAct, goes_over_dense_matrices_as_one_row) {
  // Whole tiles of several vectors a thread, and a partial one.
  for (const char* width : {"1", "0"}) {
    EXPECT_EQ(
        op().fault(op().problem(key("f16", "relu", 270, 60)),
                   Config::parse(fmt::format("dense{{num_warps=4,vec=4,unroll=4,static_dims={},hints=2}}", width))),
        "");
  }
  const bool single_elements = GetParam() == std::string("bias_act");
  for (const char* dtype : kDtypes) {
    for (const int cols : {60, 64, 2048}) expect_right(op(), key(dtype, "relu", 37, cols), "dense", 2);
    for (const int cols : {1, 61, 2050}) {
      const Problem odd = op().problem(key(dtype, "relu", 37, cols));
      EXPECT_EQ(op().sample(odd, "dense", 1).empty(), !single_elements);
      if (single_elements) expect_right(op(), key(dtype, "relu", 37, cols), "dense", 2);
    }
    EXPECT_TRUE(op().sample(op().problem(key(dtype, "relu", 37, 64, "strided")), "dense", 1).empty());
  }
}

TEST_P(BiasAct, is_right_from_one_column_on) {
  for (const int cols : {1, 2, 3, 7, 13}) {
    expect_right_base(op(), key("bf16", "relu", 70, cols));
    expect_right(op(), key("bf16", "relu", 70, cols), "tiled", 2);
  }
  expect_right_base(op(), key("f32", "relu", 1, 1));
}

TEST_P(BiasAct, gives_a_thread_rows_that_lie_alike_in_every_tile) {
  // 16 rows a thread, one at a time: ragged rows are distributed in steps of a vector's length.
  for (const char* config : {"tiled{num_warps=4,threads_per_row=128,vec=8,rows_per_thread=16,ragged=1,hints=2}",
                             "tiled{num_warps=4,threads_per_row=64,vec=8,rows_per_thread=2,ragged=1,hints=1}"}) {
    const Problem problem = op().problem(key("f16", "relu", 270, 2011));
    EXPECT_EQ(op().fault(problem, Config::parse(config)), "");
  }
}

TEST_P(BiasAct, serves_addresses_that_are_only_element_aligned) {
  for (const char* dtype : kDtypes) {
    for (const int shift : {1, 3}) {
      for (const int cols : {61, 64}) {
        expect_right_base(op(), key(dtype, "relu", 5, cols), {.seed = 7, .misalign_elements = shift});
      }
    }
  }
}

TEST_P(BiasAct, serves_rows_at_a_pitch) {
  for (const char* dtype : {"f32", "bf16"}) {
    for (const int cols : {61, 64}) {
      expect_right(op(), key(dtype, "relu", 37, cols, "strided"), "tiled", 1);
      expect_right_base(op(), key(dtype, "relu", 37, cols, "strided"));
    }
  }
}

TEST_P(BiasAct, may_write_over_its_input) {
  for (const int cols : {61, 64}) {
    expect_right(op(), key("bf16", "relu", 37, cols), "tiled", 2, {.seed = 3, .in_place = true});
  }
  expect_right(op(), key("bf16", "relu", 37, 64), "dense", 2, {.seed = 3, .in_place = true});
}

INSTANTIATE_TEST_SUITE_P(Ops, BiasAct, ::testing::Values("bias_act", "bias_act_dropout"),
                         [](const auto& name) { return std::string(name.param); });

BuiltInOp& dropout() {
  static BuiltInOp op("bias_act_dropout");
  return op;
}

std::string key(const char* dtype, const char* act, int rows, int cols, const char* pitch = "dense") {
  return fmt::format("bias_act_dropout[dtype={},act={},pitch={}]{{rows={},cols={}}}", dtype, act, pitch, rows, cols);
}

TEST(BiasActDropoutRagged, is_right_for_every_activation_and_dtype) {
  for_acts_and_dtypes(
      [](const char* act, const char* dtype) { expect_right(dropout(), key(dtype, act, 37, 61), "ragged", 1); });
}

TEST(BiasActDropoutRagged, has_vectors_that_straddle_two_rows) {
  // Rows of two vectors and a bit, whose bias is mostly read by elements; rows of even width; one row, and less than a
  // vector's rows.
  for (const char* dtype : kDtypes) {
    for (const int cols : {17, 61, 70, 257}) expect_right(dropout(), key(dtype, "relu", 67, cols), "ragged", 2);
    for (const int rows : {1, 3}) expect_right(dropout(), key(dtype, "relu", rows, 27), "ragged", 1);
  }
  expect_right(dropout(), key("f32", "relu", 37, 9), "ragged", 2);
}

TEST(BiasActDropoutRagged, gives_a_thread_the_same_columns_of_several_panels) {
  // Whole groups of panels, and one that lacks some panels or rows.
  for (const int rows : {128, 133, 168}) {
    for (const char* config :
         {"ragged{num_warps=8,vec=8,unroll=2,hints=0}", "ragged{num_warps=4,vec=8,unroll=8,hints=2}"}) {
      EXPECT_EQ(dropout().fault(dropout().problem(key("bf16", "relu", rows, 257)), Config::parse(config)), "") << rows;
    }
    EXPECT_EQ(dropout().fault(dropout().problem(key("f32", "relu", rows, 131)),
                              Config::parse("ragged{num_warps=4,vec=4,unroll=8,hints=1}")),
              "")
        << rows;
  }
}

TEST(BiasActDropoutRagged, may_write_over_its_input) {
  for (const char* dtype : kDtypes) {
    expect_right(dropout(), key(dtype, "relu", 133, 61), "ragged", 2, {.seed = 3, .in_place = true});
  }
}

TEST(BiasActDropoutRagged, keeps_all_or_nothing_at_the_ends_of_p) {
  for (const char* p : {"0.0", "1.0"}) {
    const TemporaryFolder folder;
    const std::filesystem::path op = folder.path() / "bias_act_dropout";
    std::filesystem::copy(test_kernels_dir() / "bias_act_dropout", op);
    std::stringstream text;
    text << std::ifstream(op / "bias_act_dropout.toml").rdbuf();
    std::string definition = text.str();
    const std::string sample = "\np = 0.25\n";
    const std::size_t at = definition.find(sample);
    if (at == std::string::npos) throw std::logic_error("bias_act_dropout.toml has another sample");
    definition.replace(at, sample.size(), fmt::format("\np = {}\n", p));
    std::ofstream(op / "bias_act_dropout.toml") << definition;
    BuiltInOp edited("bias_act_dropout", {folder.path()});
    expect_right(edited, key("bf16", "relu", 37, 61), "ragged", 1);
  }
}

TEST(BiasActDropoutRagged, is_for_dense_rows_that_are_no_whole_vectors) {
  for (const char* dtype : kDtypes) {
    for (const int cols : {1, 3, 7, 64}) {
      EXPECT_TRUE(dropout().sample(dropout().problem(key(dtype, "relu", 37, cols)), "ragged", 1).empty()) << cols;
    }
    EXPECT_TRUE(dropout().sample(dropout().problem(key(dtype, "relu", 37, 61, "strided")), "ragged", 1).empty());
  }
}

}  // namespace
}  // namespace tilewright::test::bias_act_test
