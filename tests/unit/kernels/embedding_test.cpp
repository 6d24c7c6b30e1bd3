// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tests/unit/kernels/elementwise.hpp"

/// The ops `embedding` and `embedding_bwd`.
namespace tilewright::test::embedding_test {
namespace {

BuiltInOp& embedding() {
  static BuiltInOp op("embedding");
  return op;
}

BuiltInOp& embedding_bwd() {
  static BuiltInOp op("embedding_bwd");
  return op;
}

class Embedding : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string key(BuiltInOp& op, int tokens, int vocab, int d) {
    return fmt::format("{}[dtype={}]{{tokens={},vocab={},d={}}}", op.definition().interface.op, GetParam(), tokens,
                       vocab, d);
  }
};

TEST_P(Embedding, gives_the_rows_that_there_are_and_zeros_for_others) {
  for (const auto& [tokens, vocab, d] : {std::tuple(1, 1, 1), {70, 50, 64}, {9, 3, 61}, {33, 7, 1000}}) {
    expect_right_base(embedding(), key(embedding(), tokens, vocab, d));
    expect_right(embedding(), key(embedding(), tokens, vocab, d), "gather", 4);
  }
}

TEST_P(Embedding, gives_the_rows_of_a_large_table_slice_by_slice) {
  for (const int d : {2000, 2001}) expect_right(embedding(), key(embedding(), 1100, 2100, d), "slices", 3);
}

TEST_P(Embedding, serves_addresses_that_are_only_element_aligned) {
  expect_right_base(embedding(), key(embedding(), 9, 50, 61), {.seed = 7, .misalign_elements = 3});
  expect_right_base(embedding_bwd(), key(embedding_bwd(), 9, 50, 61), {.seed = 7, .misalign_elements = 3});
}

TEST_P(Embedding, adds_up_the_gradients_of_each_row_however_often_it_was_taken) {
  for (const auto& [tokens, vocab, d] : {std::tuple(1, 1, 1), {70, 50, 64}, {300, 3, 61}, {33, 70, 1000}}) {
    expect_right_base(embedding_bwd(), key(embedding_bwd(), tokens, vocab, d));
    expect_right(embedding_bwd(), key(embedding_bwd(), tokens, vocab, d), "rows", 4);
  }
}

TEST_P(Embedding, adds_up_more_tokens_of_a_row_than_a_block_can_write_down) {
  // A warp's list holds 256 tokens; it has 2250, half of them of one row.
  expect_right_base(embedding_bwd(), key(embedding_bwd(), 9000, 5, 16));
  // A list of a block of `sorted` holds 1024.
  expect_right(embedding_bwd(), key(embedding_bwd(), 9000, 5, 16), "sorted", 3);
}

TEST_P(Embedding, adds_up_the_gradients_of_sorted_tokens) {
  for (const auto& [tokens, vocab, d] : {std::tuple(1, 1, 1), {70, 50, 64}, {300, 3, 61}, {2100, 200, 1000}}) {
    expect_right(embedding_bwd(), key(embedding_bwd(), tokens, vocab, d), "sorted", 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, Embedding, ::testing::ValuesIn(kDtypes),
                         [](const auto& dtype) { return std::string(dtype.param); });

}  // namespace
}  // namespace tilewright::test::embedding_test
