// SPDX-License-Identifier: Apache-2.0
#include "cache/store/codecs.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/store/fixture.hpp"

namespace tilewright::codecs_test {
namespace {

using namespace store_tests;

TEST(Codecs, spec_and_dims_make_up_the_shape_key) {
  Problem problem = softmax_problem(8, std::numeric_limits<std::int64_t>::max());
  problem.spec.attributes = {{"act", "gelu"}};
  EXPECT_EQ(problem.key(), problem.spec.text() + "{" + encode_dims(problem) + "}");
  EXPECT_EQ(decode_dims(encode_dims(problem)), problem.dims);
}

TEST(Codecs, dims_that_are_no_dims_are_refused) {
  for (const char* text :
       {"rows", "rows=", "rows=x", "rows=0", "rows=-1", "rows=1;cols=2", "rows=1,cols", "rows=99999999999999999999"}) {
    EXPECT_THROW((void)decode_dims(text), BadRow) << text;
  }
  EXPECT_TRUE(decode_dims("").empty());
}

TEST(Codecs, a_spec_keeps_the_order_of_its_attributes_and_any_character) {
  const OpSpec spec{"gemm", DType::f16, {{"z", "quoted \"x\""}, {"a", "b,c=d]{"}}};
  EXPECT_EQ(decode_spec("gemm", "f16", encode_attributes(spec)), spec);
  EXPECT_THROW((void)decode_spec("gemm", "f17", "[]"), BadRow);
  EXPECT_THROW((void)decode_spec("gemm", "f16", "[[\"a\"]]"), BadRow);
  EXPECT_THROW((void)decode_spec("gemm", "f16", "[[\"a\""), BadRow);
}

TEST(Codecs, kernels_of_a_build_come_back_whole) {
  const std::vector<KernelFacts> kernels{{"softmax_onchip", "_Z14softmax", 64, 8, 12, 16, 1024}, {"second", "s", 1}};
  EXPECT_EQ(decode_kernels(encode_kernels(kernels)), kernels);
  EXPECT_TRUE(decode_kernels(encode_kernels({})).empty());
  EXPECT_THROW((void)decode_kernels("[{\"entry\":\"x\"}]"), BadRow);
  EXPECT_THROW((void)decode_kernels("{"), BadRow);
}

TEST(Codecs, definitions_and_devices_come_back_whole_and_broken_ones_are_refused) {
  EXPECT_EQ(decode_interface(encode_interface(gemm_interface())).hash(), gemm_interface().hash());
  EXPECT_EQ(decode_facts(encode_facts(h200())), h200());
  const ImplementationRecipe recipe = onchip().recipe;
  EXPECT_EQ(encode_recipe(decode_recipe(encode_recipe(recipe))), encode_recipe(recipe));
  for (const char* text : {"", "{}", "[]", "17", "{\"op\":"}) {
    EXPECT_THROW((void)decode_interface(text), BadRow) << text;
    EXPECT_THROW((void)decode_facts(text), BadRow) << text;
    EXPECT_THROW((void)decode_recipe(text), BadRow) << text;
  }
}

TEST(Codecs, rounds_come_back_bit_by_bit) {
  const std::vector<double> rounds{1.1, 0, 1e300, 5e-324, 1.0 / 3};
  EXPECT_EQ(decode_rounds(encode_rounds(rounds)), rounds);
  EXPECT_EQ(encode_rounds(rounds).size(), 8 * rounds.size());
  EXPECT_TRUE(decode_rounds({}).empty());
  const std::vector<std::byte> cut(15);
  EXPECT_THROW((void)decode_rounds(cut), BadRow);
}

TEST(Codecs, unknown_words_of_a_row_are_refused_by_name) {
  EXPECT_EQ(decode_status("timed_out"), TrialStatus::timed_out);
  EXPECT_THROW((void)decode_status("good"), BadRow);
  EXPECT_THROW((void)decode_mode("warm"), BadRow);
  try {
    (void)decode_role("worst");
    FAIL();
  } catch (const BadRow& error) {
    EXPECT_STREQ(error.what(), "'worst' is not a known role of a winner");
  }
}

}  // namespace
}  // namespace tilewright::codecs_test
