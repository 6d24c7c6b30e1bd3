// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tests/unit/kernels/elementwise.hpp"

/// The op `mlp`.
namespace tilewright::test::mlp_test {
namespace {

BuiltInOp& mlp() {
  static BuiltInOp op("mlp");
  return op;
}

class Mlp : public ::testing::TestWithParam<const char*> {
 protected:
  struct Shape {
    int rows, d, hidden, d_out;
  };
  static std::string key(const Shape& shape, const char* act = "silu", const char* bias = "yes",
                         const char* dtype = "bf16") {
    return fmt::format("mlp[dtype={},gated={},act={},bias={}]{{rows={},d={},hidden={},d_out={}}}", dtype, GetParam(),
                       act, bias, shape.rows, shape.d, shape.hidden, shape.d_out);
  }
};

TEST_P(Mlp, is_right_by_every_way_to_multiply) {
  for (const char* implementation : {"simt", "mma", "skinny"}) {
    expect_right(mlp(), key({37, 72, 136, 40}), implementation, 1);
  }
}

TEST_P(Mlp, is_right_with_every_activation_and_without_biases) {
  for (const char* act : {"silu", "gelu", "relu"})
    expect_right(mlp(), key({9, 40, 72, 24}, act, "no", "f16"), "mma", 1);
}

TEST_P(Mlp, is_right_at_widths_that_are_no_vectors_and_at_any_address) {
  for (const Shape& shape : {Shape{1, 1, 1, 1}, {5, 35, 67, 33}, {5, 36, 66, 34}}) {
    expect_right(mlp(), key(shape), "mma", 1, {.seed = 3, .misalign_elements = 2});
    expect_right_base(mlp(), key(shape), {.seed = 3, .misalign_elements = 1});
  }
}

TEST_P(Mlp, adds_parts_of_either_product) {
  const Problem wide = mlp().problem(key({7, 1032, 48, 40}));
  EXPECT_EQ(mlp().fault(wide, Config::parse("mma{block_m=32,block_n=64,block_k=64,warp_m=16,warp_n=32,stages=4,"
                                            "split_k=2,group=1,vec=16}")),
            "");
  const Problem deep = mlp().problem(key({7, 40, 1032, 40}));
  for (const char* parts : {"down_split_k=3,down_cluster=0}", "down_split_k=4,down_cluster=1}"}) {
    const std::string config =
        "skinny{block_m=8,block_n=64,block_k=64,num_warps=8,warp_n=16,stages=12,blocks=1,split_k=1,cluster=0,"
        "persistent=1,vec=16,";
    EXPECT_EQ(mlp().fault(deep, Config::parse(config + parts)), "");
  }
}

TEST_P(Mlp, stays_on_the_chip_where_rows_are_narrow_and_many) {
  const auto on_chip = [&](const Shape& shape) {
    int count = 0;
    for (const Candidate& candidate : expand(mlp().definition(), mlp().problem(key(shape)), facts_of_an_h200()).legal) {
      count += candidate.config.implementation == "onchip" ? 1 : 0;
    }
    return count;
  };
  EXPECT_GE(on_chip({16384, 256, 1024, 256}), 2);
  EXPECT_GE(on_chip({65536, 128, 512, 64}), 2);
  EXPECT_EQ(on_chip({16384, 264, 1024, 256}), 0);
  EXPECT_EQ(on_chip({1024, 256, 1024, 256}), 0);
}

TEST(MlpTail, is_for_a_gated_first_product_whose_last_wave_is_half_empty) {
  const auto tails = [](const char* gated, int rows) {
    const std::string text =
        fmt::format("mlp[dtype=bf16,gated={},act=silu,bias=no]{{rows={},d=4096,hidden=14336,d_out=4096}}", gated, rows);
    int count = 0;
    for (const Candidate& candidate : expand(mlp().definition(), mlp().problem(text), facts_of_an_h200()).legal) {
      count += candidate.config.implementation == "tail" ? 1 : 0;
    }
    return count;
  };
  EXPECT_GT(tails("yes", 4096), 10);  // 3584 tiles on 132 multiprocessors leave 20
  EXPECT_GT(tails("yes", 512), 0);
  EXPECT_EQ(tails("no", 4096), 0);
  EXPECT_EQ(tails("yes", 1152), 0);
}

TEST(MlpEarly, is_for_rows_that_are_more_than_a_warp_has_and_no_more_than_a_tile) {
  const auto early = [](const char* gated, int rows) {
    const std::string text =
        fmt::format("mlp[dtype=bf16,gated={},act=silu,bias=no]{{rows={},d=4096,hidden=14336,d_out=4096}}", gated, rows);
    int count = 0;
    for (const Candidate& candidate : expand(mlp().definition(), mlp().problem(text), facts_of_an_h200()).legal) {
      count += candidate.config.implementation == "early" ? 1 : 0;
    }
    return count;
  };
  for (const char* gated : {"yes", "no"}) {
    EXPECT_GT(early(gated, 17), 0);
    EXPECT_GT(early(gated, 64), 4);
    EXPECT_EQ(early(gated, 16), 0);
    EXPECT_EQ(early(gated, 65), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Gated, Mlp, ::testing::Values("no", "yes"),
                         [](const auto& gated) { return std::string(gated.param); });

}  // namespace
}  // namespace tilewright::test::mlp_test
